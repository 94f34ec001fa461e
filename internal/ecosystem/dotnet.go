package ecosystem

import "pawl"

// dotnetProjects are the files that dotnet builds when it is given none.
var dotnetProjects = []string{"*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"}

var dotnet = ecosystem{
	name: "dotnet", language: "dotnet",
	manifests: append([]string{"Directory.Build.props", "Directory.Packages.props", "packages.config"}, dotnetProjects...),
	locks:     []string{"packages.lock.json"}, others: []string{"NuGet.Config", "dotnet-tools.json"},
	is: func(f folder) bool { return f.any(".", dotnetProjects...) },
	gates: func(folder) []pawl.GateSpec {
		return []pawl.GateSpec{{Kind: pawl.GateTests, Command: "dotnet test --no-restore"}}
	},
	prepare: func(f folder) []string {
		if f.has("packages.lock.json") {
			return []string{"dotnet restore --locked-mode"}
		}
		return []string{"dotnet restore"}
	},
	update:     func(f folder) string { return when(f.has("packages.lock.json"), "dotnet restore --force-evaluate") },
	registries: []string{"api.nuget.org:443"}, client: (*client).nuget,
}
