/**
 * An agent that calls a language model and runs the tools that the model requests:
 *
 *   const weather = llmAgent({ name: 'weather', model: 'google:gemini-3-flash', instruction: '…', tools: [forecast] });
 *
 * The session's events determine the next step. If there are calls without a response, the tools are run. Otherwise
 * the model is called. An answer without tool calls ends the agent's work. Because the state is in the events, any
 * process can resume a run where it stopped.
 */
import { defined, type JsonObject, type JsonValue, type MaybePromise } from '../../base/index.ts';
import type { z } from 'zod';
import type { Agent } from '../agent.ts';
import type { Artifacts } from '../artifact.ts';
import { compact, type CompactionOptions } from '../run/compaction.ts';
import { functionCalls, contentText } from '../content.ts';
import { RunFailure } from '../errors.ts';
import type { Event } from '../event.ts';
import { historyOf, TRANSFER_TOOL, type HistoryOptions } from '../run/history.ts';
import { ModelError, type Model, type ModelRequest, type ToolDeclaration } from '../model.ts';
import { resolveModel } from '../models/resolve.ts';
import type { Callbacks, HookContext, ModelAnswer } from '../plugin.ts';
import { DONE, isFinished, runScopeOf, type RunScope } from '../run/run-context.ts';
import { RunIndex, Waits, type OpenCall } from '../run/run-index.ts';
import { isToolset, type MutableState, type Tool, type Toolset } from '../tool.ts';
import { isConversational, noModel, type ConversationalAgent } from '../run/tree.ts';
import { plainSchema } from '../tools/function-tool.ts';
import { settleCalls } from './calls.ts';
import { callModel, type CompletedAnswer } from './model-call.ts';

/** The options of `llmAgent`. */
export interface LlmAgentOptions {
  readonly name: string;
  readonly description?: string;
  /** The model or its name. Default: the runner's `defaultModel`. */
  readonly model?: string | Model;
  readonly instruction?: Instruction;
  readonly tools?: readonly (Tool | Toolset)[];
  /**
   * The agents below this agent. This agent may transfer the conversation to them. It may also transfer to its parent
   * and to the parent's other sub-agents, unless the two `disallow…` options forbid this.
   */
  readonly subAgents?: readonly Agent[];
  /**
   * The state key under which the answer is stored. The answer is stored as text, or as a parsed value if there is an
   * `outputSchema`.
   */
  readonly outputKey?: string;
  /**
   * The schema of the answer. If it is set, the answer must be JSON. The run fails if the answer does not match the
   * schema.
   */
  readonly outputSchema?: z.ZodType;
  /** The schema of the arguments when the agent is used as a tool. Default: one string, `request`. */
  readonly inputSchema?: z.ZodObject;
  /**
   * The part of the conversation that the model sees. With `none`, the model sees only the last message of another
   * author in this run, and the events after that message.
   */
  readonly includeContents?: 'default' | 'none';
  readonly generation?: GenerationOptions;
  /** The conditions for replacing older parts of the conversation with a summary, or false to always keep them. */
  readonly compaction?: CompactionOptions | false;
  readonly callbacks?: Callbacks;
  readonly disallowTransferToParent?: boolean;
  readonly disallowTransferToPeers?: boolean;
}

/**
 * Maximum number of times that an agent compacts its conversation because the model refused it as too long. The count
 * starts again when the agent runs again, for example after the run was resumed.
 */
const MAX_REFUSED = 2;

/** Settings for the model's answers. */
export type GenerationOptions = Pick<
  ModelRequest,
  'maxOutputTokens' | 'temperature' | 'toolChoice'
>;

/** The agent that `llmAgent` returns. */
export interface LlmAgent extends ConversationalAgent {
  readonly inputSchema?: z.ZodObject;
  readonly outputSchema?: z.ZodType;
}

/**
 * Makes an agent that uses a language model.
 *
 *   const weather = llmAgent({ name: 'weather', model: 'google:gemini-3-flash', tools: [forecast] });
 *   await serve(toA2AAgent(weather)).listen(4000);
 */
export function llmAgent(options: LlmAgentOptions): LlmAgent {
  const { name, tools = [], inputSchema, outputSchema, callbacks } = options;
  const model = options.model === undefined ? undefined : resolveModel(options.model);
  const plainTools = tools.filter((tool): tool is Tool => !isToolset(tool));
  checkToolNames(name, plainTools);
  const schema = outputSchema && plainSchema(outputSchema.toJSONSchema());
  return {
    kind: 'llm',
    name,
    description: options.description ?? '',
    subAgents: options.subAgents ?? [],
    tools,
    model,
    ...defined({ callbacks, inputSchema, outputSchema }),
    disallowTransferToParent: options.disallowTransferToParent ?? false,
    disallowTransferToPeers: options.disallowTransferToPeers ?? false,
    async cancel(run) {
      const calls = [...new RunIndex(run.runId, run.events).openCalls.values()];
      const own = calls.filter((call) => call.agent === name);
      // If no plain tool has the call's name, `cancel` of every toolset is called. To find the right toolset, every
      // toolset would have to list its tools, which may take a long time.
      const tell = async ({ part: { id, name: called } }: OpenCall) => {
        const tool = plainTools.find((plain) => plain.name === called);
        const owners = tool ? [tool] : tools.filter(isToolset);
        return Promise.all(owners.map(async (owner) => owner.cancel?.(id, run)));
      };
      await Promise.allSettled(own.map(tell));
    },
    async *run(context) {
      const scope = runScopeOf(context);
      const used = model ?? scope.inner.services.defaultModel;
      if (!used) throw new RunFailure('no-model', noModel(name));
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
  /** The ids of the calls that the model has requested since this call of the agent's `run` began. */
  const made = new Set<string>();
  /** Whether the conversation may be compacted. False if the options do not allow it, or after a failed attempt. */
  let compacts = options.compaction !== false && view.include === 'default';
  /** The number of compactions that were attempted because the model refused the conversation as too long. */
  let refused = 0;

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
    try {
      for await (const event of callModel({ scope, model, request, complete })) {
        if (event.partial !== true) {
          for (const { id } of functionCalls(event.content)) made.add(id);
          asked = functionCalls(event.content).length;
        }
        yield event;
      }
    } catch (error) {
      const isTooLong = error instanceof ModelError && error.code === 'too-long';
      if (!isTooLong || !compacts || refused >= MAX_REFUSED) throw error;
      refused++;
      // The conversation is compacted even if it seems short enough, because `contextWindow` was unknown or wrong.
      // A vendor's model corrects its `contextWindow` before it throws this error.
      const atOnce = { ...(options.compaction || undefined), atTokens: 0 };
      const summed = await compact(scope, model, view, atOnce);
      if (summed === undefined || summed === 'failed') throw error;
      yield summed;
      continue;
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
  // Models require that the last message comes from the user.
  if (messages.at(-1)?.role !== 'user') {
    messages.push({ role: 'user', parts: [{ kind: 'text', text: 'Go on.' }] });
  }
  const declarations = [...tools.values()].map(
    ({ name, description, parameters }): ToolDeclaration => ({ name, description, parameters }),
  );
  return {
    ...(system !== '' && { system }),
    messages,
    ...(declarations.length > 0 && { tools: declarations }),
    ...options.generation,
    ...(schema && { outputSchema: schema }),
  };
}

/**
 * Returns the actions for the answer's event, and data about its calls. An answer without calls ends the agent's work.
 */
function completed(
  { content }: ModelAnswer,
  scope: RunScope,
  { options, tools }: Conversation,
): CompletedAnswer {
  const calls = functionCalls(content);
  if (calls.length > 0) {
    const idsOf = (kind: 'longRunning' | 'sequential') =>
      calls.filter((call) => tools.get(call.name)?.[kind] === true).map(({ id }) => id);
    return { actions: {}, longRunning: idsOf('longRunning'), sequential: idsOf('sequential') };
  }
  const text = contentText(content);
  const { outputKey, outputSchema } = options;
  const value = outputSchema ? parseOutput(text, outputSchema, options.name) : text;
  const actions = {
    checkpoint: { path: scope.path, value: DONE },
    ...(outputKey !== undefined && { stateDelta: { [outputKey]: value } }),
  };
  return { actions, longRunning: [], sequential: [] };
}

function parseOutput(text: string, schema: z.ZodType, name: string): JsonValue {
  const refuse = (why: string) =>
    new RunFailure(
      'invalid-output',
      `the answer of ${name} does not match its outputSchema: ${why}`,
    );
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw refuse('it is not JSON');
  }
  const result = schema.safeParse(value);
  if (result.success) return value;
  const [issue] = result.error.issues;
  throw refuse(`${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
}

async function toolsOf(agent: LlmAgent, scope: RunScope): Promise<ReadonlyMap<string, Tool>> {
  const found = await Promise.all(
    (agent.tools ?? []).map(async (tool) => (isToolset(tool) ? tool.tools(scope.signal) : [tool])),
  );
  const tools = [...found.flat(), ...transferTool(scope)];
  checkToolNames(agent.name, tools);
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function checkToolNames(agent: string, tools: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) throw new TypeError(`${agent} has two tools with the name ${name}`);
    seen.add(name);
  }
}

/** Returns the transfer tool in an array. The array is empty if there is no agent to transfer to. */
function transferTool(scope: RunScope): Tool[] {
  const names = targetsOf(scope).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      name: TRANSFER_TOOL,
      description:
        'Transfers the conversation to another agent, which continues it instead of you.',
      parameters: {
        type: 'object',
        properties: { agent_name: { type: 'string', enum: names } },
        required: ['agent_name'],
        additionalProperties: false,
      },
      run({ agent_name: name }, context) {
        if (typeof name !== 'string' || !names.includes(name)) {
          throw new Error(`agent_name must be one of: ${names.join(', ')}`);
        }
        context.transferTo(name);
      },
    },
  ];
}

function transferText(scope: RunScope): string {
  const targets = targetsOf(scope);
  if (targets.length === 0) return '';
  const list = targets.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  return [
    `You are the agent ${scope.agent.name}. These other agents can continue the conversation:\n${list}`,
    `If one of them is better suited to what the user wants, call ${TRANSFER_TOOL} and say nothing else.`,
  ].join('\n');
}

function targetsOf({ agent, inner }: RunScope): Agent[] {
  return isConversational(agent) ? inner.services.tree.transferTargets(agent) : [];
}

/**
 * An agent's instruction: a text with placeholders, or a function that returns the text. `{key}` is replaced with a
 * value of the state, and `{artifact.name}` with the text of an artifact. If the value is missing, the run fails. With
 * `{key?}` and `{artifact.name?}`, a missing value is replaced with an empty text instead. `{{key}}` stands for the
 * literal text `{key}`.
 *
 * Placeholders are not replaced in inserted values, and not in a text that a function returns.
 */
export type Instruction = string | ((context: HookContext) => MaybePromise<string>);

const PLACEHOLDER = /\{\{([^{}]*)\}\}|\{(artifact\.)?([A-Za-z_][\w:.-]*)(\?)?\}/g;

async function resolveInstruction(instruction: Instruction, context: HookContext): Promise<string> {
  return typeof instruction === 'function'
    ? instruction(context)
    : fillIn(instruction, context.state, context.artifacts);
}

async function fillIn(text: string, state: MutableState, artifacts: Artifacts): Promise<string> {
  let filled = '';
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, literal, artifact, name = '', optional] = match;
    filled += text.slice(end, match.index);
    end = match.index + whole.length;
    if (literal !== undefined) {
      filled += `{${literal}}`;
      continue;
    }
    const value =
      artifact === undefined ? stateText(state, name) : await artifactText(artifacts, name);
    if (value === undefined && optional === undefined) throw missing(whole, name, artifact);
    filled += value ?? '';
  }
  return filled + text.slice(end);
}

function stateText(state: MutableState, key: string): string | undefined {
  const value = state.get(key);
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}

async function artifactText(artifacts: Artifacts, name: string): Promise<string | undefined> {
  const content = await artifacts.load(name);
  if (content === undefined) return undefined;
  if (content.kind === 'text') return content.text;
  throw new RunFailure(
    'instruction',
    `the instruction uses the artifact ${name}, which is not text`,
  );
}

function missing(placeholder: string, name: string, artifact: string | undefined): RunFailure {
  const what = artifact === undefined ? `the state has no ${name}` : `there is no artifact ${name}`;
  const optional = placeholder.replace('}', '?}');
  return new RunFailure(
    'instruction',
    `the instruction uses ${placeholder}, but ${what}: set it, or write ${optional}`,
  );
}
