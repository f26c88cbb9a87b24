import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { cacheShare, grouped, moneyFigure } from "../../../view/mod.ts";
import type { CommandBody } from "../../command.ts";
import type { ModelInfo } from "../../../provider/mod.ts";
import { type Row, rowsText } from "../../rows.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("report_commands", host.locale);
    const { session: { state }, provider } = await host.session();
    const { usage, turns, durationMs, unpriced } = state;
    if (usage.inputTokens + usage.outputTokens + unpriced === 0) return host.say(texts.nothingSpent);
    const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = usage;
    const share = cacheShare(usage);
    const last = turns.at(-1);
    host.say(
      rowsText([
        [texts.model, provider.model.id],
        [texts.turns, grouped(turns.length)],
        [texts.tokensIn, texts.cachedPart(grouped(inputTokens), grouped(cachedTokens), share)],
        [
          texts.tokensOut,
          reasoningTokens > 0
            ? texts.thoughtPart(grouped(outputTokens), grouped(reasoningTokens))
            : grouped(outputTokens),
        ],
        [texts.cost, moneyFigure(state) ?? texts.unknown],
        ...priceRows(provider.model, texts),
        [texts.lastTurn, last?.cost && `${last.cost.amount.toFixed(4)} ${last.cost.currency}`],
        [texts.time, texts.seconds((durationMs / 1000).toFixed(1))],
      ]),
      "plain",
    );
  },
};

/** The prices that requests are computed with from now on, and their day. */
function priceRows({ price }: ModelInfo, texts: Texts["report_commands"]): Row[] {
  if (!price) return [];
  const { input, cachedInput, cacheWrite = input, output, tiers = [], date = "" } = price;
  const rates = texts.ratesOf(String(input), String(cachedInput), String(cacheWrite), String(output));
  const [above] = tiers.map((tier) => tier.above).sort((a, b) => a - b);
  return [
    [texts.prices, texts.perMillion(rates, price.currency) + (date === "" ? "" : ` (${date})`)],
    ...(above === undefined ? [] : [["", texts.longCostMore(grouped(above))] as const]),
  ];
}
