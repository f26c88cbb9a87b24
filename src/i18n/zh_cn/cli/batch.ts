import type { texts as en } from "../../en/cli/batch.ts";

export const texts: typeof en = {
  goesOn: (finished, all) => `${all} 个任务中有 ${finished} 个先前已完成`,
  ended: (place, id, how) => `${place} ${id}：${how}`,
  done: "完成",
  reasons: {
    check: "检查未通过",
    failed: "失败",
    usage: "无法运行",
    blocked: "被阻止",
    limit: "达到限额",
    provider: "模型服务出错",
    config: "配置不可用",
    interrupt: "已中断",
    terminated: "提前结束",
  },
  bar: (ended, all, failed, running) =>
    `${ended}/${all}${failed > 0 ? ` · ${failed} 个失败` : ""}${running > 0 ? ` · ${running} 个运行中` : ""}`,
  summary: (done, all, failed) => `${all} 个任务中完成 ${done} 个${failed > 0 ? `，${failed} 个未成功` : ""}`,
  open: (count) => `${count} 个未结束；再次运行同一命令即可继续`,
  costLimit: (limit) => `已达到全部任务的费用上限 ${limit}；提高 --max-cost 可继续`,
};
