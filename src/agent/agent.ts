/**
 * The interface between an agent and the runner. agents/ has the built-in kinds of agents.
 *
 * An agent is immutable and has no state of its own. The data of a run is in its context and in the session's events.
 * So one agent can serve any number of runs at the same time.
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
 * An agent does the work of a run. Create an agent with `llmAgent`, `customAgent`, `sequentialAgent`, `parallelAgent`
 * or `loopAgent`.
 *
 *   const agent: Agent = llmAgent({ name: 'weather', model: 'offline', tools: [forecast] });
 *   await createRunner({ agent }).runToEnd({ user: 'ann', session: 's1', message: 'Rain in Rome?' });
 */
export interface Agent {
  /**
   * The agent's name: up to 64 letters, digits, `_` and `-`. It must be unique among the agents that run together. It
   * must not be `user`.
   */
  readonly name: string;
  /** The purpose of the agent. Other agents and people use it to choose an agent. */
  readonly description: string;
  readonly subAgents: readonly Agent[];
  /** The agent's tools. The agent card lists them as skills. */
  readonly tools?: readonly (Tool | Toolset)[];
  readonly callbacks?: Callbacks;
  /**
   * Does the work and yields events. Each event that is not partial is stored and added to `context.events` before the
   * next event is requested. If the agent has to wait for a person, the function returns. When the answer arrives, the
   * runner calls the function again with the same run id.
   */
  run(context: RunContext): AsyncIterable<Event>;
  /**
   * Ends the work that the agent has delegated, for example a remote task. When a run was canceled or was ended with
   * `Runner.end`, this function is called for every agent of the runner, including agents that did not run. The agent
   * finds its open work in the events of the run. It does not have to stop work in this process, because the run's
   * abort signal does this. Errors are ignored.
   */
  cancel?(run: CanceledRun): Promise<void>;
}

/**
 * The data of a run for its agent, and the functions that the agent can call.
 *
 *   customAgent({ name: 'greeter' }, async function* (ctx: RunContext) { yield `Hello, ${ctx.session.user}`; });
 */
export interface RunContext {
  readonly runId: string;
  readonly agent: Agent;
  /** The position of the agent in this run, including loop iterations. Example: `root/loop#2/writer`. */
  readonly path: string;
  /** The agent's branch (see `Event.branch`). Undefined if the agent does not run inside a parallel agent. */
  readonly branch: string | undefined;
  readonly session: SessionKey;
  /** The message that started the run. */
  readonly input: Content;
  /** The session's events that this branch sees, including those of this run. */
  readonly events: readonly Event[];
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
  /** Whether the run was resumed after an answer or a crash. */
  readonly resumed: boolean;
  /** Returns the answer to this question in this run, or undefined if there is none yet. */
  answer(questionId: string): Answer | undefined;
  /**
   * Returns the last checkpoint that this agent has stored at this path in this run (`actions.checkpoint`), or
   * undefined if there is none.
   */
  checkpoint(): JsonValue | undefined;
  /**
   * Creates an event of this agent. A complete event includes the changes of `state` and `artifacts` since the agent's
   * previous complete event.
   */
  event(fields?: EventFields): Event;
  /**
   * Creates an event that asks a question. The agent chooses the `id`. In the event, the id begins with the agent's
   * path, because several agents may use the same id. The agent must return after it has yielded its last question.
   */
  question(id: string, question: Partial<Question> & Pick<Question, 'text'>): Event;
  /** Runs another agent, including its callbacks, as part of this run. */
  run(agent: Agent, options?: ChildOptions): AsyncIterable<Event>;
}

/** The options of `ctx.run`. Example: `ctx.run(agent, { step: 2 })`. */
export interface ChildOptions {
  /**
   * The number of this repetition, if the same agent runs several times. The number becomes part of the agent's path.
   */
  readonly step?: number;
  /** Whether the agent gets its own branch. Set this for agents that run in parallel. */
  readonly parallel?: boolean;
  readonly signal?: AbortSignal;
}
