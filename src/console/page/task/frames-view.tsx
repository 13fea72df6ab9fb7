/** The raw events of the task, as clients of the chosen protocol version get them. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ProtocolVersion } from '../../../protocol/index.ts';
import { Radios } from '../parts/controls.tsx';
import { EarlierEvents } from '../parts/lists.tsx';
import { Problem, useLoaded } from '../parts/loading.tsx';
import { LongText } from '../session/lines.tsx';
import type { RawEntry } from '../server/tasks.ts';
import { nameOfRaw } from './history-slider.tsx';
import type { OpenTask } from './open-task.ts';

/** Number of latest events that are drawn until the person asks for earlier ones. */
const WINDOW = 60;
const FIRST_ROWS = 200;

interface Props {
  readonly store: OpenTask;
  readonly versions: readonly ProtocolVersion[];
  /** The sequence number of the last event that is shown. */
  readonly seq: number;
}

export function FramesView({ store, versions, seq }: Props) {
  const version = useSignal<ProtocolVersion>(versions[0] ?? '1.0');
  const chosen = version.value;
  const events = useLoaded(
    async () => ({ of: chosen, list: [...(await store.rawEvents(chosen))] }),
    [store, chosen, store.count.value],
  );
  // Directly after the person has chosen another version, `events.value` still has the events of the previous version.
  const loaded = events.value?.of === chosen ? events.value.list : store.raw.get(chosen);
  const all = (loaded ?? []).filter((each) => each.seq <= seq);
  return (
    <div class="frames">
      <Radios legend="A2A version" options={versions} chosen={version} />
      {events.error === undefined ? null : <Problem error={events.error} onRetry={events.reload} />}
      <FrameList key={chosen} events={all} />
    </div>
  );
}

function FrameList({ events }: { readonly events: readonly RawEntry[] }) {
  const shown = useSignal(WINDOW);
  const newest = useRef<HTMLDetailsElement>(null);
  const last = events.at(-1)?.seq;
  const before = useRef(last);
  useEffect(() => {
    if (before.current !== last) newest.current?.scrollIntoView({ block: 'nearest' });
    before.current = last;
  }, [last]);
  const first = Math.max(0, events.length - shown.value);
  return (
    <>
      <EarlierEvents shown={shown} left={first} step={4 * WINDOW} />
      {events.slice(first).map(({ seq, event }) => (
        <details
          key={seq}
          class="frame-entry"
          open={seq === last}
          ref={seq === last ? newest : undefined}
        >
          <summary>
            <span class="mono">{seq}</span> {nameOfRaw(event)}
          </summary>
          <LongText text={JSON.stringify(event, null, 2)} first={FIRST_ROWS} safe="reveal" />
        </details>
      ))}
    </>
  );
}
