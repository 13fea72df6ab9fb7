/**
 * An agent that asks a language model, and does what it says:
 *
 *   const weather = llmAgent({ name: 'weather', model: 'google:gemini-3-flash', instruction: '…', tools: [forecast] });
 *
 * What to do next is read from the log: where there are calls without a response they are settled, else the model is
 * asked; an answer without calls is the last. So a run that is taken up, in whatever process, goes on where it was.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import type { z } from 'zod';
import type { Agent } from '../agent.ts';
import { compact, type CompactionOptions } from '../run/compaction.ts';
import { functionCalls, contentText } from '../content.ts';
import { RunFailure } from '../errors.ts';
import type { Actions, Event } from '../event.ts';
import { historyOf, type HistoryOptions } from '../run/history.ts';
import type { Model, ModelRequest, ToolDeclaration } from '../model.ts';
import { resolveModel } from '../models/resolve.ts';
import type { Callbacks, ModelAnswer } from '../plugin.ts';
import { DONE, isFinished, runScopeOf, type RunScope } from '../run/run-context.ts';
import { RunIndex, Waits, type OpenCall } from '../run/run-index.ts';
import { isToolset, type Tool, type Toolset } from '../tool.ts';
import type { ConversationalAgent } from '../run/tree.ts';
import { settleCalls } from './calls.ts';
import { resolveInstruction, type Instruction } from './instruction.ts';
import { callModel } from './model-call.ts';
import { transferText, transferTool } from './transfer.ts';

export interface LlmAgentOptions {
  readonly name: string;
  readonly description?: string;
  /** The runner's default where none is given. */
  readonly model?: string | Model;
  readonly instruction?: Instruction;
  readonly tools?: readonly (Tool | Toolset)[];
  /** Those to whom it may hand the conversation over. */
  readonly subAgents?: readonly Agent[];
  /** The answer goes into the state under this key: its text, or its value where there is an `outputSchema`. */
  readonly outputKey?: string;
  /** The answer is JSON of this schema; one that is not fails the run. */
  readonly outputSchema?: z.ZodType;
  /** What the agent takes when it is a tool. A text unless told. */
  readonly inputSchema?: z.ZodObject;
  /** `none`: the model sees only what this turn is about, not the conversation before. */
  readonly includeContents?: 'default' | 'none';
  readonly generation?: GenerationOptions;
  /** When and how older parts of the conversation give way to a summary. False: never. */
  readonly compaction?: CompactionOptions | false;
  readonly callbacks?: Callbacks;
  readonly disallowTransferToParent?: boolean;
  readonly disallowTransferToPeers?: boolean;
}

export type GenerationOptions = Pick<
  ModelRequest,
  'maxOutputTokens' | 'temperature' | 'toolChoice'
>;

export interface LlmAgent extends ConversationalAgent {
  readonly inputSchema?: z.ZodObject;
  readonly outputSchema?: z.ZodType;
}

export function llmAgent(options: LlmAgentOptions): LlmAgent {
  const { name, tools = [], inputSchema, outputSchema, callbacks } = options;
  const model = options.model === undefined ? undefined : resolveModel(options.model);
  const plainTools = tools.filter((tool): tool is Tool => !isToolset(tool));
  checkToolNames(name, plainTools);
  const schema = outputSchema && jsonSchemaOf(outputSchema);
  return {
    kind: 'llm',
    name,
    description: options.description ?? '',
    subAgents: options.subAgents ?? [],
    tools,
    model,
    ...(callbacks && { callbacks }),
    ...(inputSchema && { inputSchema }),
    ...(outputSchema && { outputSchema }),
    disallowTransferToParent: options.disallowTransferToParent ?? false,
    disallowTransferToPeers: options.disallowTransferToPeers ?? false,
    async cancel(run) {
      const calls = [...new RunIndex(run.runId, run.events).openCalls.values()];
      const waiting = calls.filter((call) => call.agent === name && call.question !== undefined);
      const tell = async ({ part }: OpenCall) =>
        plainTools.find((tool) => tool.name === part.name)?.cancel?.(part.id, run);
      await Promise.allSettled(waiting.map(tell));
    },
    async *run(context) {
      const scope = runScopeOf(context);
      const used = model ?? scope.inner.services.defaultModel;
      if (!used)
        throw new RunFailure('no-model', `${name} has no model: give it or the runner one`);
      yield* converse(scope, { options, schema, model: used, tools: await toolsOf(this, scope) });
    },
  };
}

interface Conversation {
  readonly options: LlmAgentOptions;
  readonly schema: JsonObject | undefined;
  readonly model: Model;
  readonly tools: ReadonlyMap<string, Tool>;
}

async function* converse(scope: RunScope, conversation: Conversation): AsyncGenerator<Event> {
  const { agent, runId, branch } = scope;
  const { options, model, tools } = conversation;
  const view: HistoryOptions = {
    agent: agent.name,
    runId,
    branch,
    include: options.includeContents ?? 'default',
    model: model.name,
  };
  const history = () => historyOf(scope.events, { ...view, openCalls: true });
  /** Calls of before the run was taken up are not among them. */
  const made = new Set<string>();
  /** Not again in this run when there was no summary to be had. */
  let compacts = options.compaction !== false && view.include === 'default';

  for (;;) {
    const calls = scope.inner.index.callsOf(agent.name, branch);
    const waits = new Waits(scope.inner.index);
    for await (const event of settleCalls({ scope, calls, tools, made, history })) {
      waits.note(event);
      yield event;
    }
    if (waits.any || isFinished(scope)) return;

    if (compacts) {
      const summed = await compact(scope, model, view, options.compaction || undefined);
      if (summed === 'failed') compacts = false;
      else if (summed) yield summed;
    }
    const request = await requestOf(scope, conversation, view);
    const complete = (answer: ModelAnswer) => completed(answer, scope, conversation);
    let asked = 0;
    for await (const event of callModel({ scope, model, request, complete })) {
      if (event.partial !== true) {
        for (const { id } of functionCalls(event.content)) made.add(id);
        asked = functionCalls(event.content).length;
      }
      yield event;
    }
    if (asked === 0) return;
  }
}

async function requestOf(
  scope: RunScope,
  { options, schema, tools }: Conversation,
  view: HistoryOptions,
): Promise<ModelRequest> {
  const instruction = await resolveInstruction(options.instruction ?? '', scope.hookContext);
  const system = [instruction, transferText(scope)].filter((text) => text !== '').join('\n\n');
  const messages = historyOf(scope.events, view);
  // A model speaks when it was spoken to.
  if (messages.at(-1)?.role !== 'user') {
    messages.push({ role: 'user', parts: [{ kind: 'text', text: 'Go on.' }] });
  }
  const declarations = [...tools.values()].map(declarationOf);
  return {
    ...(system !== '' && { system }),
    messages,
    ...(declarations.length > 0 && { tools: declarations }),
    ...options.generation,
    ...(schema && { outputSchema: schema }),
  };
}

function declarationOf({ name, description, parameters }: Tool): ToolDeclaration {
  return { name, description, parameters };
}

/** What goes with the answer's event: which calls stay open, and the end where there are no calls. */
function completed(
  { content }: ModelAnswer,
  scope: RunScope,
  { options, tools }: Conversation,
): { actions: Actions; longRunning: string[] } {
  const calls = functionCalls(content);
  if (calls.length > 0) {
    const longRunning = calls.filter((call) => tools.get(call.name)?.longRunning === true);
    return { actions: {}, longRunning: longRunning.map(({ id }) => id) };
  }
  const text = contentText(content);
  const { outputKey, outputSchema } = options;
  const value = outputSchema ? parseOutput(text, outputSchema, options.name) : text;
  const actions = {
    checkpoint: { path: scope.path, value: DONE },
    ...(outputKey !== undefined && { stateDelta: { [outputKey]: value } }),
  };
  return { actions, longRunning: [] };
}

function parseOutput(text: string, schema: z.ZodType, name: string): JsonValue {
  const refuse = (why: string) =>
    new RunFailure('invalid-output', `${name} did not answer as its outputSchema says: ${why}`);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw refuse('the answer is no JSON');
  }
  const result = schema.safeParse(value);
  if (result.success) return value;
  const [issue] = result.error.issues;
  throw refuse(`${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
}

async function toolsOf(agent: LlmAgent, scope: RunScope): Promise<ReadonlyMap<string, Tool>> {
  const found = await Promise.all(
    (agent.tools ?? []).map((tool) =>
      isToolset(tool) ? tool.tools(scope.signal) : Promise.resolve([tool]),
    ),
  );
  const tools = [...found.flat(), ...transferTool(scope)];
  checkToolNames(agent.name, tools);
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function checkToolNames(agent: string, tools: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) throw new TypeError(`${agent} has two tools that are called ${name}`);
    seen.add(name);
  }
}

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = schema.toJSONSchema();
  // A JSON Schema is JSON; zod's type for it is wider.
  return JSON.parse(JSON.stringify(rest)) as JsonObject;
}
