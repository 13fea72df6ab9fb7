/** A request and its response side by side: formatted, as raw text, and as bytes. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isObject } from '../../../base/index.ts';
import { nameOfEvent } from './event-name.ts';
import type { RecordedExchange, RecordedEvent, ShownHeader } from './exchanges.ts';
import type { Inspection } from './inspection.ts';
import { PageButton, Radios } from '../parts/controls.tsx';
import { jsonIn, jsonOf } from '../server/json.ts';
import { EarlierEvents } from '../parts/lists.tsx';
import { PageMessage } from '../parts/loading.tsx';
import { durationOf } from '../parts/task-parts.tsx';
import { LongText } from '../session/lines.tsx';
import { cleanLine, reveals } from '../../../display/index.ts';

const FIRST_ROWS = 60;
/** Number of latest events that are drawn until the person asks for earlier ones. */
const WINDOW = 100;
const FORMS = ['formatted', 'raw', 'bytes'] as const;
type Form = (typeof FORMS)[number];

/** Lists the recorded requests of the page to the agent, the newest first. */
export function ExchangeList({ inspection }: { readonly inspection: Inspection }) {
  const all = inspection.log.all.value.toReversed();
  if (all.length === 0) {
    return (
      <PageMessage title="No requests yet">
        <p>The requests of the checks and those that you send appear here.</p>
      </PageMessage>
    );
  }
  return (
    <>
      {all.map((exchange) => (
        <Entry key={exchange.id} summary={<ExchangeLine exchange={exchange} />}>
          {() => <ExchangeView exchange={exchange} />}
        </Entry>
      ))}
    </>
  );
}

interface EntryProps {
  readonly summary: ComponentChildren;
  readonly children: () => ComponentChildren;
}

/** An entry of a list. Draws its content only while the entry is open, because the list may be long. */
function Entry({ summary, children }: EntryProps) {
  const open = useSignal(false);
  return (
    <details
      class="frame-entry"
      onToggle={({ currentTarget }) => (open.value = currentTarget.open)}
    >
      <summary>{summary}</summary>
      {open.value ? children() : null}
    </details>
  );
}

function ExchangeLine({ exchange }: { readonly exchange: RecordedExchange }) {
  void exchange.version.value;
  const { request, status, problem } = exchange;
  const isWaiting = status === undefined && problem === undefined;
  const bad = problem !== undefined || (status ?? 0) >= 400;
  return (
    <span class="exchange-line">
      <strong>{request.method}</strong> <span class="mono">{cleanLine(request.url)}</span>{' '}
      {cleanLine(methodIn(request.body))}{' '}
      <span class={isWaiting ? 'dim' : bad ? 't-warning' : 't-good'}>
        {status ?? (isWaiting ? 'waiting' : 'no response')}
      </span>{' '}
      <span class="dim">{timing(exchange)}</span>
    </span>
  );
}

/**
 * Returns the method of a JSON-RPC request. The method is shown because all JSON-RPC requests have the same address.
 */
function methodIn(body: string | undefined): string {
  const request = jsonIn(body ?? '');
  const method = isObject(request) ? request['method'] : undefined;
  return typeof method === 'string' ? method : '';
}

function timing({ firstMs, endMs, size, eventCount, isStream }: RecordedExchange): string {
  if (firstMs === undefined) return endMs === undefined ? '' : durationOf(endMs);
  const total = endMs === undefined ? 'open' : durationOf(endMs);
  const events = isStream ? `, ${eventCount} ${eventCount === 1 ? 'event' : 'events'}` : '';
  return `first byte ${durationOf(firstMs)}, total ${total}, ${size.toLocaleString()} bytes${events}`;
}

interface ExchangeProps {
  readonly exchange: RecordedExchange;
  /** Called with the id of an event when the person presses its button. If undefined, no event has a button. */
  readonly onReplay?: ((id: string) => void) | undefined;
}

export function ExchangeView({ exchange, onReplay }: ExchangeProps) {
  void exchange.version.value;
  const form = useSignal<Form>('formatted');
  const { request, status, problem } = exchange;
  const target = new URL(request.url);
  const statusLine =
    status === undefined
      ? problem === undefined
        ? 'waiting for the response…'
        : 'no response'
      : `HTTP ${status} ${cleanLine(exchange.statusText)}`;
  return (
    <div class="exchange">
      <Radios legend="Show" options={FORMS} chosen={form}>
        <span class="dim">{timing(exchange)}</span>
      </Radios>
      <div class="sides">
        <Side title="Request" line={`${request.method} ${target.pathname}${target.search}`}>
          <Headers headers={[['host', target.host], ...request.headers]} />
          <Body form={form.value} bytes={() => new TextEncoder().encode(request.body)} />
        </Side>
        <Side title="Response" line={statusLine}>
          <Headers headers={exchange.headers} />
          {exchange.isStream && form.value === 'formatted' ? (
            <Events exchange={exchange} count={exchange.eventCount} onReplay={onReplay} />
          ) : (
            <Body key={exchange.size} form={form.value} bytes={() => exchange.bytes} />
          )}
          {exchange.isCut && (!exchange.isStream || form.value !== 'formatted') ? (
            <p class="dim">
              Only the first {exchange.bytes.length.toLocaleString()} bytes are kept.
            </p>
          ) : null}
          {problem === undefined ? null : (
            <p class={problem === 'stopped' ? 'dim' : 'problem-line'}>{cleanLine(problem)}</p>
          )}
        </Side>
      </div>
    </div>
  );
}

interface SideProps {
  readonly title: string;
  readonly line: string;
  readonly children: ComponentChildren;
}

function Side({ title, line, children }: SideProps) {
  return (
    <section class="side" aria-label={title}>
      <h3>{title}</h3>
      <p class="mono first-line">{cleanLine(line)}</p>
      {children}
    </section>
  );
}

function Headers({ headers }: { readonly headers: readonly ShownHeader[] }) {
  if (headers.length === 0) return null;
  return (
    <div class="lines header-lines">
      {headers.map(([name, value]) => (
        <div>
          <span class="t-call">{cleanLine(name)}</span>:{' '}
          {value === undefined ? <span class="dim">hidden</span> : reveals(value)}
        </div>
      ))}
    </div>
  );
}

interface BodyProps {
  readonly form: Form;
  readonly bytes: () => Uint8Array<ArrayBuffer>;
}

function Body({ form, bytes }: BodyProps) {
  const content = bytes();
  if (content.length === 0) return <p class="dim">No body.</p>;
  return <LongText key={form} text={TEXTS[form](content)} first={FIRST_ROWS} safe="reveal" />;
}

const TEXTS: Readonly<Record<Form, (content: Uint8Array<ArrayBuffer>) => string>> = {
  formatted: (content) => formatted(new TextDecoder().decode(content)),
  raw: (content) => new TextDecoder().decode(content),
  bytes: hexDump,
};

/** Returns JSON with indentation. Returns any other text, and JSON that is nested too deeply, unchanged. */
function formatted(text: string): string {
  return jsonOf(jsonIn(text), 2) ?? text;
}

/** Shows the events of a response. `count` changes with each event, so that the component is drawn again. */
function Events({ exchange, count, onReplay }: ExchangeProps & { readonly count: number }) {
  const shown = useSignal(WINDOW);
  const { events } = exchange;
  const first = Math.max(0, events.length - shown.value);
  return (
    <>
      <EarlierEvents shown={shown} left={first} step={4 * WINDOW} />
      <ol class="plain-list events">
        {events.slice(first).map((event, at) => (
          <EventRow key={first + at} event={event} onReplay={onReplay} />
        ))}
      </ol>
      {count > events.length ? (
        <p class="dim">Later events that are not kept: {count - events.length}</p>
      ) : null}
    </>
  );
}

interface EventProps {
  readonly event: RecordedEvent;
  readonly onReplay: ExchangeProps['onReplay'];
}

function EventRow({ event, onReplay }: EventProps) {
  const { id, type, data, at } = event;
  const summary = (
    <>
      <span class="mono">{id === undefined ? 'no id' : `id ${cleanLine(id)}`}</span>{' '}
      <span class="dim">{durationOf(at)}</span> {type === 'message' ? '' : cleanLine(type)}{' '}
      <span class="event-name">{cleanLine(nameOfEvent(data))}</span>
    </>
  );
  return (
    <li>
      <Entry summary={summary}>
        {() => <LongText text={formatted(data)} first={FIRST_ROWS} safe="reveal" />}
      </Entry>
      {id === undefined || !onReplay ? null : (
        <PageButton class="quiet" onClick={() => onReplay(id)}>
          Replay after {cleanLine(id)}
        </PageButton>
      )}
    </li>
  );
}

/** Maximum number of bytes in a dump. */
const MAX_BYTES = 65_536;
const PER_ROW = 16;

/** Returns rows of text. Each row has a position, and its bytes in hexadecimal and as ASCII characters. */
function hexDump(bytes: Uint8Array): string {
  const rows: string[] = [];
  const length = Math.min(bytes.length, MAX_BYTES);
  for (let at = 0; at < length; at += PER_ROW) {
    const row = [...bytes.subarray(at, Math.min(at + PER_ROW, length))];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.'));
    const position = at.toString(16).padStart(6, '0');
    rows.push(`${position}  ${hex.padEnd(PER_ROW * 3 - 1)}  ${text.join('')}`);
  }
  if (bytes.length > length) rows.push(`… ${bytes.length - length} more bytes`);
  return rows.join('\n');
}
