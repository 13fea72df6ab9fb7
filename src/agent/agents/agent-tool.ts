/**
 * Makes an agent available as a tool of another agent, the caller. The agent runs in its own session, and its answer
 * is the response to the call.
 *
 * The agent shares the state and the artifacts of the caller. The caller's run shows each event of the agent
 * (`actions.delegated`), but does not store it. So the caller's model does not see these events. When the agent asks
 * questions, the call asks the same questions. In the caller's run, their ids begin with the id of the call
 * (`call_1/…`). Any process can resume the agent's run with the answers. The id of the agent's session is derived from
 * the call. This session is deleted when the agent's run ends or is canceled.
 */
import type { JsonObject, JsonValue } from '../../base/index.ts';
import type { Agent } from '../agent.ts';
import type { LlmAgent } from './llm.ts';
import { cancelRun } from '../run/cancel-run.ts';
import { functionCalls, functionResponses } from '../content.ts';
import {
  delegatedId,
  delegatedQuestion,
  delegatedSession,
  withQuestion,
  WorkDone,
} from '../delegated.ts';
import type { Answer, Event, EventError, AnswerInbox } from '../event.ts';
import { FinalText } from '../run/final-text.ts';
import { AgentTree } from '../run/tree.ts';
import { surroundingsOf } from '../run/run.ts';
import { RunIndex } from '../run/run-index.ts';
import { makeRunner, type Runner } from '../run/runner.ts';
import { outcomeUnknown } from '../run/stopped-calls.ts';
import type { SessionKey } from '../session.ts';
import { Waiting, type Tool, type ToolContext } from '../tool.ts';
import { checkArguments, parametersOf } from '../tools/function-tool.ts';

/** The name and the description of the tool for the calling model. */
export interface AgentToolOptions {
  /** The name of the tool. Default: the agent's name. */
  readonly name?: string;
  /** The description of the tool. Default: the agent's description. */
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
      const { callId, services, signal } = context;
      const { sessions } = services;
      const runner = runnerFor(agent, context);
      const key = delegatedSession(context.session, callId);
      const message =
        typeof args['request'] === 'string' && !inputSchema
          ? args['request']
          : JSON.stringify(args);
      let outcome: Awaited<ReturnType<typeof follow>>;
      try {
        const { answers: given = [] } = surroundingsOf(services) ?? {};
        const earlier = given.length > 0 ? ((await sessions.get(key))?.events ?? []) : [];
        const answers = openAnswers(given, callId, earlier);
        if (given.length > 0 && answers.length === 0) {
          // The agent has already received these answers, and was active when an earlier process ended.
          await cancelRun(tree, sessions, key, callId, signal).catch(() => undefined);
          throw outcomeUnknown(new WorkDone(earlier).text);
        }
        outcome = await follow(runner, { key, message, answers, earlier }, context);
      } catch (failure) {
        // A call that failed or was aborted is never resumed, so its session is no longer needed.
        await sessions.delete(key).catch(() => undefined);
        throw failure;
      }
      const { questions, error, text } = outcome;
      const [first, ...others] = questions.map((question) => delegatedQuestion(question, callId));
      if (first) return new Waiting(first, ...others);
      await sessions.delete(key);
      if (error) throw new Error(`${agent.name} failed: ${error.message}`, { cause: error });
      return outputSchema && text !== '' ? (JSON.parse(text) as JsonValue) : text;
    },
    async cancel(callId, { session, sessions, signal }) {
      const key = delegatedSession(session, callId);
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

/** Returns the answers that the agent has not received yet. Their question ids are the ids in the agent's session. */
function openAnswers(
  answers: readonly Answer[],
  callId: string,
  earlier: readonly Event[],
): readonly Answer[] {
  const { questions } = new RunIndex(callId, earlier);
  const prefix = delegatedId(callId, '');
  return answers
    .map((answer) => withQuestion(answer, answer.questionId.slice(prefix.length)))
    .filter(({ questionId }) => questions.has(questionId));
}

/** The data with which an agent starts or continues. */
interface Input {
  /** The key of the agent's session. */
  readonly key: SessionKey;
  readonly message: string;
  /** The person's answers to open questions of the agent. */
  readonly answers: readonly Answer[];
  /** The stored events of a run that is resumed. Empty for a new run. */
  readonly earlier: readonly Event[];
}

/** Starts the agent's run, or resumes it with the person's answers. Returns when the run ends or waits for a person. */
async function follow(
  runner: Runner,
  { key, message, answers, earlier }: Input,
  context: ToolContext,
) {
  const { callId, signal } = context;
  const around = surroundingsOf(context.services);
  const at = { user: key.user, session: key.id, runId: callId };
  const inbox = around?.inbox && inboxFor(around.inbox, callId);
  const options = { ...at, signal, ...(inbox && { inbox }) };
  const events =
    answers.length === 0
      ? runner.run({ ...options, message })
      : runner.resume({ ...options, answers });
  const work = new WorkDone(earlier);
  if (earlier.length > 0) context.progress({ work: work.text });
  let asked = false;
  let error: EventError | undefined;
  // The stored events are included, because one of several parallel sub-agents may have finished its text before
  // another one asked a question.
  const final = new FinalText();
  for (const event of earlier) final.note(event);
  for await (const event of events) {
    await around?.show(event);
    if (functionResponses(event.content).length > 0 || functionCalls(event.content).length > 0) {
      work.note(event);
      context.progress({ work: work.text });
    }
    if (event.actions.questions) asked = true;
    error ??= event.error;
    final.note(event);
    for (const [name, value] of Object.entries(event.actions.stateDelta ?? {})) {
      context.state.set(name, value);
    }
  }
  const questions = asked && !error ? await runner.pending(at) : [];
  return { questions, error, text: final.text };
}

/** Returns an inbox for the agent. It takes the answers to the agent's questions from the caller's inbox. */
function inboxFor(outer: AnswerInbox, callId: string): AnswerInbox {
  return {
    take(question) {
      const answer = outer.take(delegatedQuestion(question, callId));
      return answer && withQuestion(answer, question.id);
    },
    listen: (arrived) => outer.listen(arrived),
  };
}
