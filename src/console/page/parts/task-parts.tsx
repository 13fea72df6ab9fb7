/** Small parts of several pages: a fact, the state of a task, a time, and a duration. */
import type { ComponentChildren } from 'preact';
import type { TaskState } from '../../../protocol/index.ts';

interface FactProps {
  readonly name: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** An entry of a list with the class `facts`. */
export function FactRow({ name, class: ofValue, children }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={ofValue}>{children}</dd>
    </div>
  );
}

/** Each state has a symbol beside its colour, for people who cannot tell the colours apart. */
const STATES: Readonly<Record<TaskState, readonly [sign: string, word: string, tone: string]>> = {
  submitted: ['○', 'submitted', 'dim'],
  working: ['◐', 'working', 'accent'],
  'input-required': ['?', 'needs an answer', 'warning'],
  'auth-required': ['?', 'needs a sign-in', 'warning'],
  completed: ['✓', 'completed', 'good'],
  failed: ['✗', 'failed', 'bad'],
  canceled: ['⊘', 'canceled', 'dim'],
  rejected: ['✗', 'rejected', 'bad'],
  unknown: ['·', 'unknown', 'dim'],
  unspecified: ['·', 'unknown', 'dim'],
};

export function StateBadge({ state }: { readonly state: TaskState }) {
  const [sign, word, tone] = STATES[state];
  return (
    <span class={`badge t-${tone}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}

const TODAY = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const EARLIER = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A time, with the exact time as its title. */
export function Moment({ at }: { readonly at: string | undefined }) {
  const time = new Date(at ?? Number.NaN);
  if (at === undefined || Number.isNaN(time.getTime())) return <span class="dim">no time</span>;
  const format = time.toDateString() === new Date().toDateString() ? TODAY : EARLIER;
  return (
    <time dateTime={at} title={at}>
      {format.format(time)}
    </time>
  );
}

/** Returns a duration for people, such as `1 min 20 s`. */
export function durationOf(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 100) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
