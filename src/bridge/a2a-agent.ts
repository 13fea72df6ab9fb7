/**
 * Converts any agent of the framework to an agent for the A2A server.
 *
 *   await serve(toA2AAgent(llmAgent({ name: 'weather', … }))).listen(4000);
 *
 * turn.ts runs a turn. presenter.ts decides what is sent to the client. question.ts writes the questions for the
 * client and reads its answers. An execution ends in one of these ways:
 *
 * - The agent is done, or has escalated without a parent agent. The task is `completed`, and the answers are
 *   artifacts.
 * - Questions are open. The task is `auth-required` if all of them ask for authorization, and otherwise
 *   `input-required`.
 * - There is an error event. The task is `failed`, and the cause is only in the server's log.
 * - The task is canceled. The run is canceled too, including the tasks of remote agents for this run.
 *
 * The session contains everything that is necessary to continue a waiting run. The agent keeps no other state between
 * executions. So any process with the same session store can continue a run.
 */
import { inTrace } from '../base/tracing/index.ts';
import type { A2AAgent, AgentOptions, AgentProfile, ExecutionContext } from '../tasks/index.ts';
import {
  type Agent,
  createRunner,
  memoryArtifacts,
  memorySessions,
  RunError,
  type RunnerOptions,
  SessionNotFound,
} from '../agent/index.ts';
import { type ConverterOptions, fromA2AMessage } from './converter.ts';
import { a2aPresenter } from './presenter.ts';
import { profileOf } from './profile.ts';
import { answersQuestion, readAnswers } from './question.ts';
import { openTurn, placeOf, runTurn } from './turn.ts';
import { answerViews } from './views.ts';

/** The options of `toA2AAgent`: the options of the runner, and options that control what clients see. */
export interface A2AAgentOptions
  extends
    ConverterOptions,
    Partial<Omit<RunnerOptions, 'agent'>>,
    Pick<AgentOptions, 'answersByContext' | 'continues'> {
  /** Fields of the profile for the card. They override the fields that are made from the agent. */
  readonly profile?: Partial<AgentProfile>;
}

/**
 * Makes an A2A agent from an agent of the framework.
 *
 *   await serve(toA2AAgent(llmAgent({ name: 'weather', model: 'offline' }))).listen(4000);
 */
export function toA2AAgent(agent: Agent, options: A2AAgentOptions = {}): A2AAgent {
  const { profile, continues, answersByContext = true, ...others } = options;
  const { exposeThoughts, exposeToolCalls, ...rest } = others;
  const { app = agent.name, sessions = memorySessions(), artifacts = memoryArtifacts() } = rest;
  const runner = createRunner({ ...rest, agent, app, sessions, artifacts });

  async function* execute(context: ExecutionContext) {
    const { message } = context;
    const create = context.turn.length === 1;
    using run = await openTurn(sessions, app, context, { create });
    yield* runTurn({
      context,
      run,
      runner,
      presenter: a2aPresenter({
        state: context.task.status.state,
        artifacts: {
          artifactId: `response-${(context.turn[0] ?? message).messageId}`,
          known: context.task.artifacts,
        },
        loadArtifact: (name, version) => artifacts.load(run.key, name, version),
        exposeThoughts,
        exposeToolCalls,
      }),
      reader: { read: (questions) => readAnswers(message, questions) },
      begin: () => ({ message: fromA2AMessage(message) }),
    });
  }

  return {
    profile: profileOf(agent, profile),
    // Clients of A2A 0.3 expect the answer in the status message of the task that `message/send` returns.
    views: answerViews(({ result }) => result === '0.3'),
    readsTraceparent: true,
    execute: (context) => inTrace(context.traceparent, () => execute(context)),
    async cancel(_taskId, context) {
      try {
        await runner.cancel(placeOf(context));
      } catch (error) {
        if (!isUnknown(error)) throw error;
      }
    },
    receive: (context, task) =>
      task && {
        continues: typeof continues === 'function' ? continues(context) : continues === true,
      },
    ...(answersByContext && {
      answersByContext: ({ message }, { status }) => answersQuestion(message, status.message),
    }),
  };
}

/**
 * Returns whether the error means that the run does not exist. Either the task was canceled before its run began, or
 * the session was deleted.
 */
function isUnknown(error: unknown): boolean {
  const unknownRun = error instanceof RunError && error.code === 'unknown-run';
  return unknownRun || error instanceof SessionNotFound;
}
