/**
 * The transcript. Only a window of the entries is in the document: the last ones, or those around the place to which
 * the person has scrolled. So a session of any length opens at once.
 */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Entry, SessionState } from '../../../display/index.ts';
import { EntryView } from './entries.tsx';
import type { LiveClient } from '../../../live/client/index.ts';
import { PageButton } from '../parts/controls.tsx';
import { startAbove, startBelow, STEP, windowOf } from './transcript-window.ts';

/** Distance from an end of the window, in pixels, at which the window moves. */
const NEAR_END = 600;
/** Distance from the bottom, in pixels, within which the transcript scrolls to new entries. */
const AT_BOTTOM = 48;

function entryAt({ log }: SessionState, index: number): Entry | undefined {
  const { finished, open } = log;
  return index < finished.length ? finished[index] : open[index - finished.length];
}

/** The content of the transcript: a session, or a task as it was after one of its events. */
export interface Shown {
  readonly state: ReadonlySignal<SessionState>;
  readonly session: { readonly self: LiveClient };
  /**
   * The number of entries that the page had shown before it loaded all earlier messages. 0 if the page has not loaded
   * all messages.
   */
  readonly seen: number;
}

interface Props {
  readonly store: Shown;
  /** Called when the person asks for the earlier messages, which the page has not loaded. */
  readonly onLoadAll?: () => void;
  /** Shown as the sender of this client's own messages, and of messages from an unknown sender. Default: `You`. */
  readonly unnamed?: string;
  /** Shown if there are no entries. */
  readonly empty: ComponentChildren;
}

export function TranscriptView({ store, onLoadAll, unnamed, empty }: Props) {
  const box = useRef<HTMLDivElement>(null);
  /** Whether the transcript scrolls to each new entry. */
  const follows = useRef(true);
  /** The entry at the top of the screen and its position, so that it stays there when the window moves. */
  const anchor = useRef<{ readonly id: string; readonly top: number } | undefined>(undefined);
  const away = useSignal(false);
  /** The index of the first entry in the document. Undefined while the transcript scrolls to each new entry. */
  const firstShown = useSignal<number | undefined>(undefined);
  const state = store.state.value;
  const count = state.log.finished.length + state.log.open.length;
  // After the page has loaded all earlier messages, the entry that was first before the load stays on the screen.
  const resumes = useRef(store.seen);
  if (resumes.current > 0 && count > 0) {
    const first = Math.max(0, count - resumes.current);
    const id = String(entryAt(state, first)?.id);
    anchor.current = { id, top: box.current?.getBoundingClientRect().top ?? 0 };
    resumes.current = 0;
    follows.current = false;
    away.value = true;
    firstShown.value = Math.max(0, first - STEP);
  }
  const window = windowOf(firstShown.value, count);
  const { start, end } = window;
  const { self } = store.session;
  // Only a snapshot or a presence item replaces the array of clients. So after other items, the finished entries are
  // not drawn again.
  const clients = useComputed(() => store.state.value.clients);

  const keepPlace = () => {
    const { current } = box;
    if (!current) return;
    const top = current.getBoundingClientRect().top;
    for (const each of current.querySelectorAll<HTMLElement>('[data-entry]')) {
      const place = each.getBoundingClientRect();
      if (place.bottom <= top) continue;
      anchor.current = { id: each.dataset['entry'] ?? '', top: place.top };
      return;
    }
  };

  const onScroll = () => {
    const { current } = box;
    if (!current) return;
    const below = current.scrollHeight - current.scrollTop - current.clientHeight;
    const isLast = end === count;
    follows.current = isLast && below < AT_BOTTOM;
    away.value = !follows.current;
    if (follows.current) {
      firstShown.value = undefined;
    } else if (current.scrollTop < NEAR_END && start > 0) {
      keepPlace();
      firstShown.value = startAbove(window);
    } else if (below < NEAR_END && !isLast) {
      keepPlace();
      firstShown.value = startBelow(window, count);
    } else {
      // The first entry stays the same while new entries are added at the end of the window.
      firstShown.value ??= start;
    }
  };

  const toEnd = () => {
    firstShown.value = undefined;
    follows.current = true;
    away.value = false;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  const toStart = () => {
    follows.current = false;
    away.value = true;
    firstShown.value = 0;
    box.current?.scrollTo({ top: 0 });
  };

  useLayoutEffect(() => {
    const { current } = box;
    if (!current) return;
    const place = anchor.current;
    anchor.current = undefined;
    if (follows.current) {
      current.scrollTop = current.scrollHeight;
    } else if (place) {
      const there = current.querySelector(`[data-entry="${place.id}"]`);
      if (there) current.scrollTop += there.getBoundingClientRect().top - place.top;
    }
  });

  // Keeps the newest entry in view when the height of the box changes, for example when a dialog opens or the keyboard
  // of a phone appears.
  useLayoutEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => {
      if (follows.current) current.scrollTop = current.scrollHeight;
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);

  const shown: Entry[] = [];
  for (let index = start; index < end; index++) {
    const entry = entryAt(state, index);
    if (entry) shown.push(entry);
  }
  const company = { self, clients: clients.value, unnamed };
  return (
    <div class="transcript">
      <div
        class="scroll"
        ref={box}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Transcript"
        onKeyDown={(event) => {
          if (event.target !== event.currentTarget) return;
          if (event.key === 'Home') toStart();
          else if (event.key === 'End') toEnd();
          else return;
          event.preventDefault();
        }}
      >
        {start === 0 && state.omitted > 0 ? (
          store.seen > 0 ? (
            <p class="dim">{state.omitted} earlier messages cannot be loaded.</p>
          ) : (
            <PageButton class="more" onClick={onLoadAll}>
              Load {state.omitted} earlier messages
            </PageButton>
          )
        ) : null}
        {count === 0 ? empty : null}
        {shown.map((entry) => (
          <article
            key={entry.id}
            data-entry={entry.id}
            class={entry.gap ? 'gap-before' : undefined}
          >
            <EntryView entry={entry} company={company} />
          </article>
        ))}
      </div>
      {/* The buttons are outside of the box, because scrolling up to a button inside it would move the window. */}
      {away.value && start > 0 ? (
        <PageButton class="jump start" onClick={toStart}>
          ↑ Go to the start
        </PageButton>
      ) : null}
      {away.value ? (
        <PageButton class="jump latest" onClick={toEnd}>
          ↓ Latest
        </PageButton>
      ) : null}
    </div>
  );
}
