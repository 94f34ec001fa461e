package ecosystem

import "pawl"

var (
	maven = ecosystem{
		name: "maven", language: "java",
		manifests: []string{"pom.xml"}, others: []string{"maven.config", "extensions.xml", "jvm.config", "maven-wrapper.properties", "settings.xml"},
		is: func(f folder) bool { return f.has("pom.xml") },
		gates: func(f folder) []pawl.GateSpec {
			return []pawl.GateSpec{{Kind: pawl.GateTests, Command: mvn(f) + " --batch-mode test", Report: pawl.ReportJUnit, File: "**/target/surefire-reports/TEST-*.xml"}}
		},
		// The plugin that runs tests fetches what it runs them with when it does:
		// dependency:go-offline does not see that. So they run once, whatever comes of
		// it, and nothing that was compiled is kept.
		prepare: func(f folder) []string {
			return []string{mvn(f) + " --batch-mode -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true test clean"}
		},
		registries: []string{"repo.maven.apache.org:443"}, client: (*client).maven,
	}
	gradle = ecosystem{
		name: "gradle", language: "java",
		manifests: []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "*.gradle", "*.gradle.kts", "libs.versions.toml"},
		locks:     []string{"gradle.lockfile", "buildscript-gradle.lockfile"},
		others:    []string{"gradle.properties", "gradle-wrapper.properties", "verification-metadata.xml"},
		is: func(f folder) bool {
			return f.has("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
		},
		gates: func(f folder) []pawl.GateSpec {
			// A test task that is up to date writes no report.
			return []pawl.GateSpec{{Kind: pawl.GateTests, Command: gradlew(f) + " --no-daemon --rerun-tasks test", Report: pawl.ReportJUnit, File: "**/build/test-results/**/TEST-*.xml"}}
		},
		// testClasses would not fetch what the tests need when they run. The tests do
		// not run, but Gradle before 8.3 does not know the option.
		prepare: func(f folder) []string {
			return []string{gradlew(f) + " --no-daemon test --test-dry-run && " + gradlew(f) + " --no-daemon clean"}
		},
		update: func(f folder) string {
			return when(f.has("gradle.lockfile"), gradlew(f)+" --no-daemon dependencies --write-locks")
		},
		registries: []string{"repo.maven.apache.org:443", "plugins.gradle.org:443", "plugins-artifacts.gradle.org:443",
			"services.gradle.org:443", "downloads.gradle.org:443"},
	}
)

// mvn returns the project's own Maven wrapper, or else the machine's Maven.
func mvn(f folder) string {
	if f.has("mvnw") {
		return "./mvnw"
	}
	return "mvn"
}

// gradlew returns the project's own Gradle wrapper, or else the machine's Gradle.
func gradlew(f folder) string {
	if f.has("gradlew") {
		return "./gradlew"
	}
	return "gradle"
}
