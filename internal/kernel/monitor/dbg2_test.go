package monitor
import ("testing";"fmt";"pawl";"strings")
func TestCls(t *testing.T){
 n:=map[string]int{}
 for seed:=uint64(0);seed<10000;seed++{
  w:=newWorld(seed); h:=w.honest(6+w.IntN(15))
  for i:=range h{ v:=Judge(recent(h,i)); if v.Health!=pawl.HealthProgressing{
    r:=strings.Map(func(c rune)rune{if c>='0'&&c<='9'||c==','{return -1};return c},v.Reason)
    hh:=counted(recent(h,i)); last:=hh[len(hh)-1]
    n[fmt.Sprintf("%s %.40s adds0=%v",v.Health,r,w.adds==0)]++
    if strings.HasPrefix(v.Reason,"nothing") { k:=0; for _,id:=range last.open(){ if len(hh.attempts(id,len(hh)-1))<3{k++}}; n[fmt.Sprintf("   inVain: open<3attempts=%v of %v small=%v",k,len(last.open()),w.width<3)]++ }
   break}}
 }
 for k,v:=range n{fmt.Println(v,k)}
}
