/** Draws the timeline as a table: one row for the task and one for each call, each with a bar and its times. */
import { useMemo } from 'preact/hooks';
import { titleOf } from '../../../display/index.ts';
import type { LogEntry } from '../../../protocol/index.ts';
import { durationOf, FactRow } from '../parts/task-parts.tsx';
import { timeIn, timelineOf, type TimeSpan, type SpanKind, type Timeline } from './timeline.ts';

const KINDS: Readonly<Record<SpanKind, string>> = {
  work: 'work',
  person: 'waiting for a person',
  queue: 'waiting for its turn',
  idle: 'between turns',
};

interface TimelineProps {
  readonly entries: readonly LogEntry[];
  /**
   * Whether the log of the task has later entries. If true, the timeline ends at the last of `entries`. If false, the
   * timeline of an unfinished task ends now.
   */
  readonly isPast: boolean;
}

export function TimelineView({ entries, isPast }: TimelineProps) {
  const timeline = useMemo(
    () => timelineOf(entries, isPast ? undefined : Date.now()),
    [entries, isPast],
  );
  if (!timeline) return <p class="dim">The events of this task have no times.</p>;
  const { spans, calls, from, to } = timeline;
  const drawn = new Set([...spans, ...calls.flatMap((each) => each.spans)].map(({ kind }) => kind));
  const kinds = (Object.keys(KINDS) as SpanKind[]).filter((kind) => drawn.has(kind));
  return (
    <div class="timeline">
      <dl class="facts">
        <FactRow name="Total">{durationOf(to - from)}</FactRow>
        <FactRow name="Work">{durationOf(timeIn(spans, 'work'))}</FactRow>
        <FactRow name="Waiting for a person">{durationOf(timeIn(spans, 'person'))}</FactRow>
        <FactRow name="Calls">{calls.length}</FactRow>
      </dl>
      <ul class="legend" aria-label="Legend">
        {kinds.map((kind) => (
          <li key={kind}>
            <span class={`swatch span-${kind}`} aria-hidden="true" /> {KINDS[kind]}
          </li>
        ))}
      </ul>
      <div class="wide" tabIndex={0} role="region" aria-label="Calls">
        <table class="bars">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" class="bar-cell">
                When
              </th>
              <th scope="col">Work</th>
              <th scope="col">Person</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            <Row name="The task" spans={spans} timeline={timeline} result="" />
            {calls.map(({ call, spans: own }) => (
              <Row
                key={call.tool_call_id}
                name={titleOf(call)}
                spans={own}
                timeline={timeline}
                result={call.status.toLowerCase()}
              />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface RowProps {
  readonly name: string;
  readonly spans: readonly TimeSpan[];
  readonly timeline: Timeline;
  readonly result: string;
}

function Row({ name, spans, timeline, result }: RowProps) {
  const { from, to } = timeline;
  const length = Math.max(to - from, 1);
  return (
    <tr>
      <th scope="row" title={name}>
        {name}
      </th>
      <td class="bar-cell">
        <div class="track">
          {spans.map((span) => (
            <span
              key={span.from}
              class={`span span-${span.kind}`}
              title={`${KINDS[span.kind]}: ${durationOf(span.to - span.from)}`}
              style={{
                left: `${((span.from - from) / length) * 100}%`,
                width: `${((span.to - span.from) / length) * 100}%`,
              }}
            />
          ))}
        </div>
      </td>
      <td class="number-cell">{durationOf(timeIn(spans, 'work'))}</td>
      <td class="number-cell">{durationOf(timeIn(spans, 'person'))}</td>
      <td>{result}</td>
    </tr>
  );
}
