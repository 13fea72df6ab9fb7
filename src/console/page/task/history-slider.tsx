/** Chooses the event up to which the task is shown. */
import { isObject } from '../../../base/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { readStatus } from '../../../protocol/development-tool/index.ts';
import type { LogEntry } from '../../../protocol/index.ts';
import { Moment } from '../parts/task-parts.tsx';
import { PageButton } from '../parts/controls.tsx';

interface Props {
  readonly entries: readonly LogEntry[];
  /** The number of events that are shown. */
  readonly at: number;
  readonly onChange: (at: number) => void;
}

export function HistorySlider({ entries, at, onChange }: Props) {
  const entry = entries[at - 1];
  const last = entries.length;
  const go = (to: number) => onChange(Math.min(Math.max(to, 1), last));
  const text = entry ? `Event ${at} of ${last}: ${cleanLine(nameOfEvent(entry))}` : '';
  return (
    <section class="slider" aria-label="History of the task">
      <PageButton disabled={at <= 1} onClick={() => go(at - 1)} aria-label="Earlier event">
        ‹
      </PageButton>
      <input
        type="range"
        min={1}
        max={last}
        value={at}
        aria-label="Event"
        aria-valuetext={text}
        onInput={({ currentTarget }) => go(currentTarget.valueAsNumber)}
      />
      <PageButton disabled={at >= last} onClick={() => go(at + 1)} aria-label="Later event">
        ›
      </PageButton>
      <PageButton disabled={at >= last} onClick={() => go(last)}>
        Newest
      </PageButton>
      <span class="slider-text">
        {text}{' '}
        {entry && entry.event.kind !== 'artifact-update' && entry.event.status.timestamp ? (
          <span class="dim">
            · <Moment at={entry.event.status.timestamp} />
          </span>
        ) : null}
      </span>
    </section>
  );
}

/** Returns a short description of an event. */
export function nameOfEvent({ event }: LogEntry): string {
  if (event.kind === 'task') return 'task created';
  if (event.kind === 'artifact-update') {
    return `artifact ${event.artifact.artifactId}${event.append === true ? ', appended' : ''}`;
  }
  const [fact] = readStatus(event).facts;
  const { state } = event.status;
  if (!fact || fact.kind === 'state') return state;
  if (fact.kind === 'call') return `${state}: call ${fact.call.tool_name} ${fact.call.status}`;
  return `${state}: ${fact.kind}`;
}

/** Returns the kind of a raw event of either version. */
export function nameOfRaw(event: unknown): string {
  if (!isObject(event)) return 'event';
  const kind = event['kind'];
  if (typeof kind === 'string') return kind;
  return Object.keys(event)[0] ?? 'event';
}
