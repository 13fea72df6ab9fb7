/** Draws the entries of the transcript. */
import { useMemo } from 'preact/hooks';
import {
  bodyOfCall,
  cleanLine,
  nameOf,
  statusOfCall,
  titleInHistory,
  type CallEntry,
  type Company,
  type Entry,
} from '../../../display/index.ts';
import type { FileDiff } from '../../../protocol/development-tool/index.ts';
import { ChangeView, countsOf, LongText } from './lines.tsx';
import { Markdown } from './markdown.tsx';
import { PartView } from './part-view.tsx';

/** Number of rows of an output, of a change and of a prompt that are drawn before the person asks for more. */
const OUTPUT_ROWS = 12;
const DIFF_ROWS = 40;
const PROMPT_ROWS = 60;
/** Live output is cut to its last LIVE_CHARS characters. The last LIVE_ROWS rows of them are drawn. */
const LIVE_CHARS = 4000;
const LIVE_ROWS = 12;

/**
 * The clients of the session. `unnamed` is shown as the sender for this client's own messages, and for a sender without
 * a name in the session. Default: You.
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
  // Finished entries never change, so their elements are made once.
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
