package monitor
import ("testing";"fmt";"pawl")
func TestDbg(t *testing.T){
 n:=map[pawl.Health]int{}
 for seed:=uint64(0);seed<10000;seed++{
  w:=newWorld(seed); h:=w.honest(6+w.IntN(15))
  for i:=range h{ v:=Judge(recent(h,i)); if v.Health!=pawl.HealthProgressing{
    hh:=counted(recent(h,i))
    n[v.Health]++
    if n[v.Health]<60 { fmt.Println(v.Health,"seed",seed,v.Reason); for _,b:=range hh[max(0,len(hh)-4):]{fmt.Printf("  %d P%d %d/%d",b.N,b.Passing,b.Approved,b.Attempted); for _,x:=range b.Tasks{ if x.Result!=Waiting {fmt.Printf(" | %d %d f%d p%d e%x %x",x.Task,x.Result,x.Failed,x.Passing,x.Error&0xfff,x.Failing&0xfff)}};fmt.Println()}}
   break}}
 }
}
