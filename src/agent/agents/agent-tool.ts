/**
 * Makes an agent available as a tool of another agent, the caller. The agent runs in its own session, and its answer is
 * the response to the call.
 *
 * The agent shares the state and the artifacts of the caller. When the agent asks a question, the call asks the same
 * question, and any process can resume the agent's run with the answer. The id of the agent's session is derived from
 * the call. The session is deleted when the run ends or is canceled.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import { hash } from 'node:crypto';
import type { Agent } from '../agent.ts';
import type { LlmAgent } from './llm.ts';
import { cancelRun } from '../run/cancel-run.ts';
import { contentText, type Content } from '../content.ts';
import { isFinalResponse, type Event, type EventError, type Question } from '../event.ts';
import { AgentTree } from '../run/tree.ts';
import { surroundingsOf } from '../run/run.ts';
import { makeRunner, type Runner } from '../run/runner.ts';
import type { Tool, ToolContext } from '../tool.ts';
import { checkArguments, parametersOf } from '../tools/function-tool.ts';

/** The name and the description of the tool for the calling model. */
export interface AgentToolOptions {
  /** Default: the agent's name. */
  readonly name?: string;
  /** Default: the agent's description. */
  readonly description?: string;
}

const TEXT_REQUEST: JsonObject = {
  type: 'object',
  properties: { request: { type: 'string', description: 'What the agent should do.' } },
  required: ['request'],
  additionalProperties: false,
};

/**
 * Makes a tool from an agent.
 *
 *   const host = llmAgent({ name: 'host', tools: [agentTool(weather)] });
 */
export function agentTool(agent: Agent, options: AgentToolOptions = {}): Tool {
  const { inputSchema, outputSchema } = schemasOf(agent);
  const tree = new AgentTree(agent);
  return {
    name: options.name ?? agent.name,
    description: options.description ?? agent.description,
    parameters: inputSchema ? parametersOf(inputSchema) : TEXT_REQUEST,
    parse(args) {
      if (inputSchema) checkArguments(inputSchema, args);
      else if (typeof args['request'] !== 'string') throw new TypeError('request must be a string');
      return args;
    },
    async run(args, context) {
      const runner = runnerFor(agent, context);
      const message =
        typeof args['request'] === 'string' && !inputSchema
          ? args['request']
          : JSON.stringify(args);
      const forget = () =>
        context.services.sessions.delete({ ...context.session, id: innerSession(context) });
      let outcome: Outcome;
      try {
        outcome = await follow(begin(runner, message, context), context);
      } catch (failure) {
        // An aborted call is never resumed, so its session is not needed.
        await forget().catch(() => undefined);
        throw failure;
      }
      const { question, error, answer } = outcome;
      if (question) {
        const { id: _, agent: asker, ...asked } = question;
        return context.ask({ ...asked, detail: { agent: asker, detail: asked.detail ?? null } });
      }
      await forget();
      if (error) throw new Error(`${agent.name} failed: ${error.message}`);
      const text = contentText(answer);
      return outputSchema && text !== '' ? (JSON.parse(text) as JsonValue) : text;
    },
    async cancel(callId, { session, sessions, signal }) {
      const key = { ...session, id: innerSession({ session, callId }) };
      await cancelRun(tree, sessions, key, callId, signal);
      await sessions.delete(key);
    },
  };
}

function schemasOf(agent: Agent | LlmAgent): Pick<LlmAgent, 'inputSchema' | 'outputSchema'> {
  return 'kind' in agent && agent.kind === 'llm' ? agent : {};
}

function runnerFor(agent: Agent, context: ToolContext): Runner {
  const around = surroundingsOf(context.services);
  return makeRunner(
    {
      agent,
      app: context.session.app,
      sessions: context.services.sessions,
      ...(context.services.defaultModel && { defaultModel: context.services.defaultModel }),
      ...(around && { plugins: around.services.plugins, limits: around.services.limits }),
    },
    { state: context.state, artifacts: context.artifacts, depth: around?.depth ?? 0 },
  );
}

function innerSession({ session, callId }: Pick<ToolContext, 'session' | 'callId'>): string {
  // The id contains a hash, so that nested agents do not make it longer.
  return `agent-tool-${hash('sha256', JSON.stringify([session.id, callId])).slice(0, 32)}`;
}

/** Starts the run, or resumes it with the person's answer. */
async function* begin(
  runner: Runner,
  message: string,
  context: ToolContext,
): AsyncGenerator<Event> {
  const { answer, signal, callId: runId } = context;
  const at = { user: context.session.user, session: innerSession(context), runId };
  if (!answer) return yield* runner.run({ ...at, message, signal });
  // The agent's questions are asked one at a time, so the answer belongs to the first open question.
  const [question] = await runner.pending(at);
  if (!question) throw new Error('the agent has no open question');
  return yield* runner.resume({ ...at, answers: [{ ...answer, questionId: question.id }], signal });
}

interface Outcome {
  readonly question: Question | undefined;
  readonly error: EventError | undefined;
  readonly answer: Content | undefined;
}

async function follow(events: AsyncIterable<Event>, context: ToolContext): Promise<Outcome> {
  let question: Question | undefined;
  let error: EventError | undefined;
  let answer: Content | undefined;
  for await (const event of events) {
    question ??= event.actions.questions?.[0];
    error ??= event.error;
    if (isFinalResponse(event)) {
      answer = event.content;
      context.progress({ agent: event.author, text: contentText(event.content) });
    }
    for (const [key, value] of Object.entries(event.actions.stateDelta ?? {})) {
      context.state.set(key, value);
    }
  }
  return { question, error, answer };
}
