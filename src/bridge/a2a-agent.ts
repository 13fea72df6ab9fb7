/**
 * Turns any agent of the framework into an agent for the A2A server.
 *
 *   await serve(toA2AAgent(llmAgent({ name: 'weather', … }))).listen(4000);
 *
 * turn.ts runs a turn. presenter.ts decides what the peer hears of it, question.ts how the peer is asked and how it
 * answers. A run ends in one of these ways:
 *
 * - the agent is done, or has escalated and has no agent above it: `completed`, with the text of the answer;
 * - questions are open: `input-required`, or `auth-required` if each of them asks for an authorization;
 * - an error event: `failed`. Only our log has the cause;
 * - the task is canceled: its run is canceled too, and with it what remote agents do for the run.
 *
 * Nothing is kept between executions: what a waiting run needs is in its session.
 */
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
import { readAnswers } from './question.ts';
import { openTurn, placeOf, runTurn } from './turn.ts';

/** The options of `toA2AAgent`: those of the runner, and what clients see. */
export interface A2AAgentOptions
  extends ConverterOptions, Partial<Omit<RunnerOptions, 'agent'>>, Pick<AgentOptions, 'continues'> {
  /** Overrides what the agent says about itself on its card. */
  readonly profile?: Partial<AgentProfile>;
}

/**
 * Makes an A2A agent of an agent of the framework.
 *
 *   await serve(toA2AAgent(llmAgent({ name: 'weather', model: 'offline' }))).listen(4000);
 */
export function toA2AAgent(agent: Agent, options: A2AAgentOptions = {}): A2AAgent {
  const { profile, continues, exposeThoughts, exposeToolCalls, ...rest } = options;
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
    execute,
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
  };
}

/** The task was canceled before its run began, or the session has been deleted. */
function isUnknown(error: unknown): boolean {
  const unknownRun = error instanceof RunError && error.code === 'unknown-run';
  return unknownRun || error instanceof SessionNotFound;
}
