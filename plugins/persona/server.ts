/** The plugin persona: reviews of a text by several personas, and a summary of what they say. */
import * as z from "zod";
import { isRemote, type Plugin, type PluginContext, PluginError } from "../common/plugin.ts";
import { addTool, type Answer } from "../common/tool.ts";
import { readPrompt, readText } from "./files.ts";
import { ModelRuns, type Run } from "./model.ts";
import { type Persona, personasOfList, personasOfMarkdown } from "./personas.ts";
import panelPrompt from "./prompts/panel.md" with { type: "text" };
import reviewPrompt from "./prompts/review.md" with { type: "text" };

const Settings = z.strictObject({
  /** Model of the granted provider; the first one of its entry otherwise. */
  model: z.string().min(1).optional(),
});

const Input = z.object({
  content: z.string().min(1).meta({ minLength: undefined }),
  personas: z.union([z.string(), z.array(z.string())])
    .describe("Names, or path of a Markdown file"),
  goal: z.string().optional(),
  notes: z.string().optional(),
  artifact_type: z.string().optional(),
  panel: z.boolean().optional().describe("Adds a summary"),
  files: z.array(z.string()).optional().describe("Paths of guidelines"),
  model: z.string().optional(),
});

const Output = z.object({
  reviews: z.array(z.object({ persona: z.string(), review: z.string() })),
  failed: z.array(z.object({ persona: z.string(), error: z.string() })),
  panel: z.string().optional(),
});

const PANEL = "panel";
const keyOf = (persona: string) => `review: ${persona}`;

export const plugin: Plugin<z.infer<typeof Settings>> = {
  settings: Settings,
  register(server, context) {
    addTool(server, {
      name: "persona_review",
      title: "Persona review",
      description: "Reviews a text as each persona.",
      input: Input,
      output: Output,
      reaches: context.providers.some(isRemote) ? "network" : "workspace",
    }, async (args, call) => {
      const { panel: isWanted = false, model = context.settings.model } = args;
      const personas = await personasOf(args.personas, context);
      const runs = new ModelRuns(server, context, call, model);
      const reviewing = await runs.run(await reviewRuns(personas, args, context), call.progress);
      if (reviewing) return reviewing;
      const reviews: Review[] = [];
      const failed: { persona: string; error: string }[] = [];
      for (const { name: persona } of personas) {
        const outcome = runs.outcomeOf(keyOf(persona));
        if ("text" in outcome) reviews.push({ persona, review: outcome.text });
        else failed.push({ persona, ...outcome });
      }
      if (reviews.length === 0) {
        const errors = failed.map(({ persona, error }) => `${persona}: ${error}`).join(", ");
        throw new PluginError(`No persona could review: ${errors}`, runs.remedy);
      }
      if (isWanted) {
        const system = await readPrompt("panel", panelPrompt, context);
        const text = sections({ ...aboutOf(args), Reviews: textOf(reviews) });
        const summing = await runs.run([{ key: PANEL, system, text }], call.progress);
        if (summing) return summing;
        const outcome = runs.outcomeOf(PANEL);
        if ("text" in outcome) return answerOf(reviews, failed, outcome.text);
        failed.push({ persona: "Panel", ...outcome });
      }
      return answerOf(reviews, failed);
    });
  },
};

type Review = z.infer<typeof Output>["reviews"][number];
type Arguments = z.infer<typeof Input>;

/** One text that ends like a file of text is a path. */
async function personasOf(given: Arguments["personas"], context: PluginContext): Promise<Persona[]> {
  const [only = "", ...others] = typeof given === "string" ? [given] : given;
  const path = only.trim();
  if (others.length > 0 || !/^[^\n,]+\.(?:md|mdx|markdown|txt)$/i.test(path)) return personasOfList(given);
  return personasOfMarkdown(await readText(path, context), path);
}

async function reviewRuns(
  personas: readonly Persona[],
  args: Arguments,
  context: PluginContext,
): Promise<Run[]> {
  const prompt = await readPrompt("review", reviewPrompt, context);
  const guidelines: string[] = [];
  for (const path of args.files ?? []) guidelines.push(`## ${path}\n\n${await readText(path, context)}`);
  const text = sections({ ...aboutOf(args), Guidelines: guidelines.join("\n\n"), Content: args.content });
  return personas.map(({ name, description }) => ({
    key: keyOf(name),
    system: prompt.replaceAll(
      /\{\{(persona|description)\}\}/g,
      (_, key) => key === "persona" ? name : description,
    ).replaceAll(/\n{3,}/g, "\n\n"),
    text,
  }));
}

function aboutOf({ artifact_type, goal, notes }: Arguments): Record<string, string | undefined> {
  return { "Artifact type": artifact_type, Goal: goal, Notes: notes };
}

function sections(texts: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(texts).flatMap(([name, text]) => text ? [`[${name}]\n${text}`] : []).join("\n\n");
}

function textOf(reviews: readonly Review[]): string {
  return reviews.map(({ persona, review }) => `## ${persona}\n\n${review}`).join("\n\n");
}

function answerOf(
  reviews: readonly Review[],
  failed: z.infer<typeof Output>["failed"],
  panel?: string,
): Answer {
  const failures = failed.map(({ persona, error }) => `Failed: ${persona}: ${error}`).join("\n");
  const summary = panel === undefined ? "" : `## Panel\n\n${panel}`;
  const text = [textOf(reviews), summary, failures].filter((part) => part !== "").join("\n\n");
  return { text, data: { reviews, failed, ...(panel === undefined ? {} : { panel }) } };
}
