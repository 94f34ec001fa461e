package monitor
import ("testing";"fmt";"pawl")
func TestDbg(t *testing.T){
 n:=0; cls:=map[string]int{}
 for seed:=uint64(0);seed<10000;seed++{
  w:=newWorld(seed); h:=w.honest(6+w.IntN(15))
  for i:=range h{ v:=Judge(recent(h,i)); if v.Health!=pawl.HealthProgressing{
   if v.Health==pawl.HealthRegressing||v.Health==pawl.HealthStalled{
    hh:=counted(recent(h,i)); last:=len(hh)-1
    re,app:=0,hh[last].Approved
    for _,k:=range hh[last].open(){ if len(hh.attempts(k,last))>1{re++}}
    key:=fmt.Sprint(v.Health," notests=",w.noTests," approved=",app>0," retried=",min(re,3), " flaky=",w.flaky>0&&w.flakes>.05)
    cls[key]++
    if n<12 && v.Health==pawl.HealthRegressing { n++; fmt.Println("seed",seed,v.Reason); for _,b:=range hh{fmt.Printf("  %d P%d %d/%d",b.N,b.Passing,b.Approved,b.Attempted); for _,x:=range b.Tasks{fmt.Printf(" | %d %d f%d p%d",x.Task,x.Result,x.Failed,x.Passing)};fmt.Println()}}
   }
   break}}
 }
 for k,v:=range cls{fmt.Println(v,k)}
}
