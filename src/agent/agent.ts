/**
 * The interface between an agent and the runner. agents/ has the built-in kinds of agents.
 *
 * An agent is immutable and has no state of its own: a run's data is in its context and in the session's events. So one
 * agent can serve any number of runs at once.
 */
import type { JsonValue } from '../base/index.ts';
import type { Artifacts } from './artifact.ts';
import type { CanceledRun } from './canceled-run.ts';
import type { Content } from './content.ts';
import type { Answer, Event, EventFields, Question } from './event.ts';
import type { Callbacks } from './plugin.ts';
import type { SessionKey } from './session.ts';
import type { MutableState, Tool, Toolset } from './tool.ts';

/**
 * Does the work of a run. Make one with `llmAgent`, `customAgent`, `sequentialAgent`, `parallelAgent` or `loopAgent`.
 *
 *   const agent: Agent = llmAgent({ name: 'weather', model: 'offline', tools: [forecast] });
 *   await createRunner({ agent }).runToEnd({ user: 'ann', session: 's1', message: 'Rain in Rome?' });
 */
export interface Agent {
  /** Unique among the agents that run together. Letters, digits, `_` and `-`; `user` is reserved. */
  readonly name: string;
  /** The purpose of the agent. Other agents and people choose by it. */
  readonly description: string;
  readonly subAgents: readonly Agent[];
  /** The tools that the agent card lists. */
  readonly tools?: readonly (Tool | Toolset)[];
  readonly callbacks?: Callbacks;
  /**
   * Does the work. Each event is stored before the next one is requested, so `context.events` includes it. The function
   * also returns when it waits for a person. When the answer arrives, it is called again with the same run id.
   */
  run(context: RunContext): AsyncIterable<Event>;
  /**
   * Called when a run was canceled that may have waited for this agent. Ends the work that the agent has delegated, for
   * example a remote task. Work in this process ends by its signal. Errors are ignored.
   */
  cancel?(run: CanceledRun): Promise<void>;
}

/**
 * What an agent knows about its run, and the functions that it works with.
 *
 *   customAgent({ name: 'greeter' }, async function* (ctx: RunContext) { yield `Hello, ${ctx.session.user}`; });
 */
export interface RunContext {
  readonly runId: string;
  readonly agent: Agent;
  /** The position of the agent in this run, with iterations: `root/loop#2/writer`. */
  readonly path: string;
  readonly branch: string | undefined;
  readonly session: SessionKey;
  /** The message that started the run. */
  readonly input: Content;
  /** The session's events that this branch sees, including those of this run. */
  readonly events: readonly Event[];
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
  /** The run was resumed after an answer or a crash. */
  readonly resumed: boolean;
  /** The answer to this question in this run. */
  answer(questionId: string): Answer | undefined;
  /** The last checkpoint that this agent stored at this path in this run (`actions.checkpoint`). */
  checkpoint(): JsonValue | undefined;
  /** Creates an event of this agent, with the changes of `state` and `artifacts` since its last event. */
  event(fields?: EventFields): Event;
  /** Creates an event that asks a question. Return after yielding it. The agent chooses `id`. */
  question(id: string, question: Partial<Question> & Pick<Question, 'text'>): Event;
  /** Runs another agent in this run, with its callbacks. */
  run(agent: Agent, options?: ChildOptions): AsyncIterable<Event>;
}

/** How an agent runs another one: `ctx.run(agent, { step: 2 })`. */
export interface ChildOptions {
  /** Distinguishes repeated runs of the same agent in the path. */
  readonly step?: number;
  /** Gives the agent its own branch, for agents that run in parallel. */
  readonly parallel?: boolean;
  readonly signal?: AbortSignal;
}
