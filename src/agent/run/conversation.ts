/**
 * Which of a session's events make up the conversation that models see. The log itself only ever grows.
 *
 * - An aside (a command to the program, say) and all that its run did is not a part of it.
 * - A rewind goes back: the conversation is again what it was when the named event was the last, and goes on from
 *   there. What it leaves out is still in the log, so that another rewind can bring it back.
 * - A run whose latest words were left out stays out, whatever it says afterwards. To itself, nothing has happened: it
 *   sees the conversation in which it began.
 */
import type { Event } from '../event.ts';

/** `runId`: the run that looks. */
export function conversationOf(events: readonly Event[], runId?: string): readonly Event[] {
  const isPlain = events.every(({ aside, actions }) => aside !== true && !actions.rewind);
  return isPlain ? events : new Conversation(events, runId).events;
}

/** The event behind which `id` was said in the conversation; null where it was the first or is not a part of it. */
export function eventBefore(events: readonly Event[], id: string): string | null {
  return new Conversation(events, undefined).before(id);
}

class Conversation {
  readonly #byId = new Map<string, Event>();
  readonly #before = new Map<string, Event | undefined>();
  /** The latest event of each run. */
  readonly #latest = new Map<string, Event>();
  #leftOut = new Set<string>();
  #chain: Event[] = [];

  constructor(events: readonly Event[], runId: string | undefined) {
    const asides = new Set<string>();
    let begun = false;
    for (const event of events) {
      begun ||= event.runId === runId;
      if (event.aside === true) asides.add(event.runId);
      const { rewind, compaction } = event.actions;
      if (rewind && !(begun && event.runId !== runId)) this.#rewind(rewind.to);
      if (this.#leftOut.has(event.runId)) continue;
      // A summary stands for the conversation, whoever asked for it.
      if (!asides.has(event.runId) || compaction) this.#add(event);
    }
  }

  get events(): readonly Event[] {
    return this.#chain;
  }

  before(id: string): string | null {
    return this.#before.get(id)?.id ?? null;
  }

  #add(event: Event): void {
    this.#byId.set(event.id, event);
    this.#before.set(event.id, this.#chain.at(-1));
    this.#latest.set(event.runId, event);
    this.#chain.push(event);
  }

  #rewind(to: string | null): void {
    const target = to === null ? undefined : this.#byId.get(to);
    if (to !== null && !target) return;
    const chain: Event[] = [];
    for (let at = target; at !== undefined; at = this.#before.get(at.id)) chain.push(at);
    const kept = new Set(chain);
    this.#chain = chain.toReversed();
    this.#leftOut = new Set();
    for (const [run, latest] of this.#latest) if (!kept.has(latest)) this.#leftOut.add(run);
  }
}
