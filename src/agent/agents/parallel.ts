/**
 * Agents side by side. Each has a branch of its own and does not see the others.
 *
 * An agent goes on only after its last event was stored and shown. One that waits for a person does not hold the
 * others; when one fails the run is over, and the others are told to stop.
 */
import type { Agent, RunContext } from '../agent.ts';
import type { Event } from '../event.ts';
import { runScopeOf } from '../run/run-context.ts';
import { Waits } from '../run/run-index.ts';
import type { WorkflowOptions } from './sequential.ts';

export function parallelAgent(options: WorkflowOptions): Agent {
  const { name, description = '', subAgents, callbacks } = options;
  return {
    name,
    description,
    subAgents,
    ...(callbacks && { callbacks }),
    run: (context) => runSideBySide(context, subAgents),
  };
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

async function* runSideBySide(
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

/** What the lanes come up with, in the order in which they do; each is asked again only when it is told to be. */
class Arrivals {
  /** Lanes that were asked and have not ended. */
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
