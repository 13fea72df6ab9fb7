/**
 * Runs agents in parallel. Each agent has its own branch and does not see the events of the other branches.
 *
 * An agent continues only after its previous event was stored and shown. An agent that waits for a person does not
 * block the other agents. When an agent fails, the run ends and the other agents are aborted.
 */
import type { Agent, RunContext } from '../agent.ts';
import type { Event } from '../event.ts';
import { runScopeOf } from '../run/run-context.ts';
import { Waits } from '../run/run-index.ts';
import { agentOf, type WorkflowOptions } from './workflow.ts';

/**
 * Makes an agent that runs its sub-agents in parallel.
 *
 *   const research = parallelAgent({ name: 'research', subAgents: [history, chemistry] });
 */
export function parallelAgent(options: WorkflowOptions): Agent {
  return agentOf(options, (context) => runInParallel(context, options.subAgents));
}

interface Lane {
  readonly agent: Agent;
  readonly events: AsyncIterator<Event>;
  readonly waits: Waits;
}

interface Step {
  readonly lane: Lane;
  readonly result: IteratorResult<Event>;
}

async function* runInParallel(
  context: RunContext,
  agents: readonly Agent[],
): AsyncGenerator<Event> {
  const noted = context.checkpoint();
  const { index } = runScopeOf(context).inner;
  const done = new Set(Array.isArray(noted) ? noted : []);
  const stop = new AbortController();
  const lanes = agents
    .filter(({ name }) => !done.has(name))
    .map((agent): Lane => {
      const events = context.run(agent, { parallel: true, signal: stop.signal });
      return { agent, events: events[Symbol.asyncIterator](), waits: new Waits(index) };
    });
  const arrivals = new Arrivals(lanes);
  try {
    while (arrivals.open > 0) {
      const { lane, result } = await arrivals.next();
      if (result.done !== true) {
        lane.waits.note(result.value);
        yield result.value;
        arrivals.ask(lane);
      } else if (!lane.waits.any) {
        done.add(lane.agent.name);
        yield context.event({ actions: { checkpoint: { path: context.path, value: [...done] } } });
      }
    }
  } finally {
    stop.abort(new Error(`${context.agent.name} has stopped`));
    for (const { events } of lanes) events.return?.().catch(() => undefined);
  }
}

/**
 * Each agent has one lane, which reads the agent's events. This class collects the steps of all lanes in the order of
 * their arrival. A lane continues only when `ask` is called for it.
 */
class Arrivals {
  /** The number of requested steps that `next` has not returned yet. */
  open = 0;
  readonly #arrived: (() => Step)[] = [];
  #wake: (() => void) | undefined;

  constructor(lanes: readonly Lane[]) {
    for (const lane of lanes) this.ask(lane);
  }

  ask(lane: Lane): void {
    this.open++;
    lane.events.next().then(
      (result) => this.#arrive(() => ({ lane, result })),
      (error: unknown) =>
        this.#arrive(() => {
          throw error;
        }),
    );
  }

  async next(): Promise<Step> {
    if (this.#arrived.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.open--;
    return this.#arrived.shift()!();
  }

  #arrive(step: () => Step): void {
    this.#arrived.push(step);
    this.#wake?.();
  }
}
