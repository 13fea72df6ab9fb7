/**
 * Draws the entries of the transcript, with the files and the data of messages. A peer chooses the content of a file,
 * so the page never opens the file. The person can only save it, with a media type that browsers do not open. If a
 * message contains only the URI of a file, the page shows a link.
 */
import { useMemo } from 'preact/hooks';
import { PageButton } from '../parts/controls.tsx';
import { ChangeView, countsOf, LongText, shownSize } from './lines.tsx';
import { Markdown, SafeLink } from './markdown.tsx';
import {
  bodyOfCall,
  cleanLine,
  nameOf,
  statusOfCall,
  titleInHistory,
  type CallEntry,
  type Company,
  type Entry,
  type ShownPart,
} from '../../../display/index.ts';
import type { FileDiff } from '../../../protocol/development-tool/index.ts';
import type { FilePart } from '../../../protocol/index.ts';

/** Number of rows of an output, of a change and of a prompt that are drawn before the person asks for more. */
const OUTPUT_ROWS = 12;
const DIFF_ROWS = 40;
const PROMPT_ROWS = 60;
/** Live output is cut to its last LIVE_CHARS characters. The last LIVE_ROWS rows of them are drawn. */
const LIVE_CHARS = 4000;
const LIVE_ROWS = 12;

/**
 * The clients of the session. `unnamed` is shown as the sender of this client's own messages, and of messages from an
 * unknown sender. Default: `You`.
 */
export interface Senders extends Company {
  readonly unnamed?: string | undefined;
}

interface Props {
  readonly entry: Entry;
  readonly company: Senders;
}

export function EntryView({ entry, company }: Props) {
  const { self, clients, unnamed } = company;
  // Finished entries never change. Their elements are made again only if one of the other values changes.
  return useMemo(() => draw(entry, { self, clients, unnamed }), [entry, self, clients, unnamed]);
}

function draw(entry: Entry, company: Senders) {
  switch (entry.kind) {
    case 'prompt': {
      const from = nameOf(entry.from, company);
      return (
        <div class={from === undefined ? 'prompt own' : 'prompt'}>
          <div class="from">{from ?? company.unnamed ?? 'You'}</div>
          <LongText text={entry.text} first={PROMPT_ROWS} safe="clean" />
          {entry.parts?.map((part) => (
            <PartView
              key={part}
              part={part}
              title={part.kind === 'file' ? (part.file.name ?? 'file') : 'data'}
            />
          ))}
        </div>
      );
    }
    case 'text':
      return entry.text.trim() === '' ? null : (
        <div class="text">
          <Markdown text={entry.text} done={entry.done} />
        </div>
      );
    case 'thought': {
      const { subject, description, agent } = entry.thought;
      return (
        <details class="thought">
          <summary>
            <Helper name={agent} />
            {cleanLine(subject)}
          </summary>
          <div class="text">
            <Markdown text={description} done />
          </div>
        </details>
      );
    }
    case 'call':
      return <CallView entry={entry} company={company} />;
    default:
      return (
        <div class={`notice ${entry.level}`}>
          {entry.part ? (
            <PartView part={entry.part} title={entry.text} />
          ) : (
            <LongText text={entry.text} first={OUTPUT_ROWS} safe="clean" />
          )}
        </div>
      );
  }
}

export function Helper({ name }: { readonly name: string | undefined }) {
  return name === undefined ? null : <span class="helper">{cleanLine(name)} › </span>;
}

function CallView({ entry, company }: { readonly entry: CallEntry; readonly company: Senders }) {
  const { call, decision } = entry;
  const { sign, word, tone } = statusOfCall(entry);
  const body = bodyOfCall(entry);
  const who = decision && (nameOf(decision.by, company) ?? company.unnamed ?? 'You');
  return (
    <div class="call" data-status={word}>
      <div class="title">
        <span class={`status t-${tone}`} role="img" aria-label={word}>
          {sign ?? <span class="spinner" />}
        </span>
        <span class="name">
          <Helper name={call.agent} />
          {titleInHistory(entry)}
        </span>
        {body?.kind === 'diff' ? <Counts diff={body.diff} /> : null}
        {body && 'summary' in body && body.summary !== undefined ? (
          <span class="t-bad">{body.summary}</span>
        ) : null}
      </div>
      {decision ? (
        <div class="decision">
          ↳ {who}: {cleanLine(decision.option)}
        </div>
      ) : null}
      <CallBodyView entry={entry} />
    </div>
  );
}

/** The numbers of added and removed lines. */
export function Counts({ diff }: { readonly diff: FileDiff | undefined }) {
  const counts = useMemo(() => diff && countsOf(diff), [diff]);
  if (!counts) return null;
  return (
    <span class="counts">
      {counts.added > 0 ? <span class="t-added">+{counts.added}</span> : null}
      {counts.removed > 0 ? <span class="t-removed">−{counts.removed}</span> : null}
    </span>
  );
}

function CallBodyView({ entry }: { readonly entry: CallEntry }) {
  const body = bodyOfCall(entry);
  if (!body) return null;
  if (body.kind === 'diff') {
    return (
      <details class="output" open>
        <summary>{cleanLine(body.diff.file_name)}</summary>
        <ChangeView diff={body.diff} first={DIFF_ROWS} />
      </details>
    );
  }
  if (body.text.trim() === '') return null;
  if (body.kind === 'live') {
    const lines = body.text.slice(-LIVE_CHARS).split('\n').slice(-LIVE_ROWS);
    return (
      <div class="output live">
        <LongText text={lines.join('\n')} first={LIVE_ROWS + 1} safe="clean" />
      </div>
    );
  }
  const open = entry.call.status !== 'SUCCEEDED';
  const rows = body.text.trimEnd().split('\n', 1000).length;
  return (
    <details class="output" open={open}>
      <summary>
        {rows === 1 ? '1 line' : `${rows >= 1000 ? '1000+' : rows} lines`} of output
      </summary>
      <LongText text={body.text} first={OUTPUT_ROWS} safe="clean" />
    </details>
  );
}

const DATA_ROWS = 60;
/** Data with more rows than this is folded at first. */
const OPEN_ROWS = 12;
const MAX_NAME = 120;

function PartView({ part, title }: { readonly part: ShownPart; readonly title: string }) {
  return part.kind === 'file' ? (
    <FileView file={part.file} title={title} />
  ) : (
    <DataView data={part.data} title={title} />
  );
}

function FileView({ file, title }: { readonly file: FilePart['file']; readonly title: string }) {
  const { bytes, uri, mimeType } = file;
  // Four characters of Base64 are three bytes.
  const size =
    bytes === undefined ? '' : `, ${shownSize(Math.floor((bytes.length * 3) / 4), 'bytes')}`;
  return (
    <div class="part">
      <span>
        {cleanLine(title)}{' '}
        <span class="dim">
          {cleanLine(mimeType ?? 'unknown type')}
          {size}
        </span>
      </span>
      {bytes === undefined ? (
        <SafeLink href={uri ?? ''}>{cleanLine(uri ?? '')}</SafeLink>
      ) : (
        <PageButton onClick={() => save(bytes, fileNameOf(file))}>Save the file</PageButton>
      )}
    </div>
  );
}

function DataView({ data, title }: { readonly data: unknown; readonly title: string }) {
  const text = useMemo(() => JSON.stringify(data, null, 2), [data]);
  const rows = text.split('\n', OPEN_ROWS + 1).length;
  return (
    <details class="output part-data" open={rows <= OPEN_ROWS}>
      <summary>{cleanLine(title)}</summary>
      <LongText text={text} first={DATA_ROWS} safe="reveal" />
    </details>
  );
}

/** Returns a name without folders, and without characters that file systems do not allow. */
function fileNameOf({ name = 'file' }: FilePart['file']): string {
  const last = cleanLine(name).split(/[/\\]/).at(-1) ?? '';
  const safe = last.replaceAll(/[<>:"|?*]/g, '_').replace(/^\.+/, '');
  return safe.slice(-MAX_NAME) || 'file';
}

function save(base64: string, name: string): void {
  const content = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
