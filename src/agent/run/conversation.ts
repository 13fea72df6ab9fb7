/**
 * Selects the session's events that form the conversation for models. Events are never removed from the session
 * itself.
 *
 * - An aside, such as a command to the program, is excluded with all events of its run.
 * - A rewind resets the conversation to the point directly after its target event. The excluded events stay in the
 *   session, so another rewind can restore them. If the rewind cancels the request that is open there, a note for the
 *   model follows. Without it, the model would execute this request together with the next one.
 * - If a rewind excludes the latest event of a run, events that this run adds later are excluded too. This does not
 *   apply to the conversation of that run itself, which ignores rewinds by other runs after its start.
 */
import { CANCELED_REQUEST } from '../canceled-run.ts';
import { userContent } from '../content.ts';
import type { Event } from '../event.ts';

/** Returns the events of the conversation. `runId` is the run for which the conversation is selected. */
export function conversationOf(events: readonly Event[], runId?: string): readonly Event[] {
  const isPlain = events.every(({ aside, actions }) => aside !== true && !actions.rewind);
  return isPlain ? events : new Conversation(events, runId).events;
}

/**
 * Returns the id of the event before `id` in the conversation, or null if `id` is the first event or not in the
 * conversation.
 */
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
      if (rewind && !(begun && event.runId !== runId) && this.#rewind(rewind.to)) {
        if (rewind.cancels === true) this.#add(canceledBy(event));
      }
      if (this.#leftOut.has(event.runId)) continue;
      // A summary is part of the conversation, even if an aside requested it.
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

  /** Returns false if the target is not in the session. */
  #rewind(to: string | null): boolean {
    const target = to === null ? undefined : this.#byId.get(to);
    if (to !== null && !target) return false;
    const chain: Event[] = [];
    for (let at = target; at !== undefined; at = this.#before.get(at.id)) chain.push(at);
    const kept = new Set(chain);
    this.#chain = chain.toReversed();
    this.#leftOut = new Set();
    for (const [run, latest] of this.#latest) if (!kept.has(latest)) this.#leftOut.add(run);
    return true;
  }
}

/** Returns the event of a rewind as the user's note that the request was canceled. */
function canceledBy(event: Event): Event {
  return { ...event, author: 'user', content: userContent(CANCELED_REQUEST) };
}
