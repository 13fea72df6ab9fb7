/**
 * What an agent is to the runner, and what a run is to an agent. agents/ has the kinds that ship.
 *
 * An agent is immutable and has no state of its own: everything that belongs to a run is in its context and in the
 * session's events. So one agent can serve any number of runs at once.
 */
import type { JsonValue } from '../base/index.ts';
import type { Artifacts } from './artifact.ts';
import type { CanceledRun } from './canceled-run.ts';
import type { Content } from './content.ts';
import type { Answer, Event, EventFields, Question } from './event.ts';
import type { Callbacks } from './plugin.ts';
import type { SessionKey } from './session.ts';
import type { MutableState, Tool, Toolset } from './tool.ts';

export interface Agent {
  /** Unique among the agents that run together. Letters, digits, `_` and `-`; not `user`. */
  readonly name: string;
  /** What it is good for: other agents and people choose by it. */
  readonly description: string;
  readonly subAgents: readonly Agent[];
  /** What it can do, for those who describe it to others. */
  readonly tools?: readonly (Tool | Toolset)[];
  readonly callbacks?: Callbacks;
  /**
   * Does the work. An event is stored before the next one is asked for, so `context.events` has it by then. Ends by
   * returning, also when it waits for a person: it is run again, with the same run id, when the answer is there.
   */
  run(context: RunContext): AsyncIterable<Event>;
  /**
   * A run that may have waited for something of this agent's was canceled: what it has left to others is to end. What
   * is under way here ends by its signal. What this throws is passed over.
   */
  cancel?(run: CanceledRun): Promise<void>;
}

export interface RunContext {
  readonly runId: string;
  readonly agent: Agent;
  /** Where in the tree of this run the agent is, iterations included: `root/loop#2/writer`. */
  readonly path: string;
  readonly branch: string | undefined;
  readonly session: SessionKey;
  /** What the user said when the run began. */
  readonly input: Content;
  /** The session's, those of this run included, as far as this branch sees them. */
  readonly events: readonly Event[];
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
  /** The run has been taken up again. */
  readonly resumed: boolean;
  /** What the person answered to this question in this run. */
  answer(questionId: string): Answer | undefined;
  /** What this agent, at this path, last noted in this run (`actions.checkpoint`). */
  checkpoint(): JsonValue | undefined;
  /** An event of this agent, with what was set in `state` and saved in `artifacts` since its last one. */
  event(fields?: EventFields): Event;
  /** An event that asks; return after it. `id` is the agent's own name for the question. */
  question(id: string, question: Partial<Question> & Pick<Question, 'text'>): Event;
  /** Runs another agent in this run, with its callbacks. */
  run(agent: Agent, options?: ChildOptions): AsyncIterable<Event>;
}

export interface ChildOptions {
  /** Tells this time from others in the path. */
  readonly step?: number;
  /** Side by side with others: gets a branch of its own. */
  readonly parallel?: boolean;
  readonly signal?: AbortSignal;
}
