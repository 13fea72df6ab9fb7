/** Tasks and what they hold, for people. */
import {
  type FilePart,
  isInterrupted,
  isTerminal,
  type Part,
  type Task,
  type TaskState,
} from '../../protocol/index.ts';
import { bold, cyan, dim, green, red, shown, word, yellow } from './terminal.ts';

/** Text as it is, data as JSON, files by their names. */
export function contentOf(parts: readonly Part[]): string {
  let out = '';
  for (const part of parts) {
    if (part.kind === 'text') {
      out += shown(part.text);
      continue;
    }
    if (out !== '' && !out.endsWith('\n')) out += '\n';
    out += part.kind === 'data' ? JSON.stringify(part.data, null, 2) : describeFile(part);
    out += '\n';
  }
  return out;
}

function describeFile({ file }: FilePart): string {
  const name = word(file.name ?? 'file');
  const where =
    file.uri === undefined
      ? `${Buffer.from(file.bytes ?? '', 'base64').length} bytes`
      : word(file.uri);
  return `[${[name, file.mimeType && word(file.mimeType), where].filter(Boolean).join(', ')}]`;
}

/**
 * The answer in a task: its artifacts, and what it asks where it waits; where there are none, what its status says,
 * unless that is why it ended.
 */
export function answerOf(task: Task): string {
  const { artifacts = [], status } = task;
  const said = artifacts.map(({ parts }) => contentOf(parts));
  if (isInterrupted(status.state)) return joined([...said, questionOf(task)]);
  if (said.length > 0) return joined(said);
  return isFailure(status.state) ? '' : contentOf(status.message?.parts ?? []);
}

/** What a task that waits asks, in words where it has any: the rest of it is for programs. */
export function questionOf({ status }: Task): string {
  if (!isInterrupted(status.state)) return '';
  const parts = status.message?.parts ?? [];
  const words = parts.filter((part) => part.kind === 'text' && part.text !== '');
  return contentOf(words.length > 0 ? words : parts);
}

/** The task has ended, and not with what was asked for. */
export function isFailure(state: TaskState): boolean {
  return isTerminal(state) && state !== 'completed';
}

/** One below the other. */
function joined(texts: readonly string[]): string {
  return texts.map((text, at) => (at < texts.length - 1 ? ended(text) : text)).join('');
}

/** With the end of its last line. */
export function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

export function stateOf(state: TaskState, width = 0): string {
  const padded = state.padEnd(width);
  if (state === 'completed') return green(padded);
  if (state === 'failed' || state === 'rejected') return red(padded);
  if (isInterrupted(state)) return yellow(padded);
  return state === 'canceled' ? dim(padded) : cyan(padded);
}

/** A time of the wire's in the local zone, to the second. */
export function timeOf(timestamp: string | undefined): string {
  const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  if (Number.isNaN(time)) return '–';
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace('T', ' ');
}

/** Names and values, one pair on each line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${dim(name.padEnd(width))}  ${value}\n`).join('');
}

/** A whole task. */
export function describeTask(task: Task): string {
  const { status, artifacts = [], history = [] } = task;
  const head = fields([
    ['task', bold(word(task.id))],
    ['state', stateOf(status.state)],
    ['context', word(task.contextId)],
    ['updated', timeOf(status.timestamp)],
    ['messages', String(history.length)],
    [
      'artifacts',
      artifacts.map(({ name, artifactId }) => word(name ?? artifactId)).join(', ') || '–',
    ],
  ]);
  const answer = answerOf(task) || contentOf(status.message?.parts ?? []);
  return answer === '' ? head : `${head}\n${ended(answer)}`;
}
