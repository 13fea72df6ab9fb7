/** Formats tasks and their content as text for people. */
import { endsWithQuestion, spokenSections } from '../../client/index.ts';
import { isCoderAgentOutput } from '../../protocol/development-tool/index.ts';
import {
  type FilePart,
  isFailure,
  isInterrupted,
  type Part,
  type Task,
  type TaskState,
} from '../../protocol/index.ts';
import { columns, bold, cyan, dim, green, jsonText, red, shown, word, yellow } from './terminal.ts';

/** Formats parts: text as it is (on a terminal, without control characters), data as JSON, and files by name. */
export function contentOf(parts: readonly Part[]): string {
  let out = '';
  for (const part of parts) {
    if (part.kind === 'text') {
      out += shown(part.text);
      continue;
    }
    if (out !== '' && !out.endsWith('\n')) out += '\n';
    out += part.kind === 'data' ? jsonText(part.data, 2) : describeFile(part);
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
 * Returns the answer of a task:
 *
 *   the task waits for input      the artifacts or texts (`saidIn`), then the question
 *   it has artifacts              the artifacts
 *   it ended without success      an empty text
 *   otherwise                     the content of the status or, if this is empty, the texts that the agent sent
 */
export function answerOf(task: Task): string {
  const { status } = task;
  const { said, hasArtifacts } = saidIn(task);
  if (isInterrupted(status.state)) return joined([...said, questionAfterAnswer(task)]);
  if (hasArtifacts) return joined(said);
  if (isFailure(status.state)) return '';
  return contentOf(status.message?.parts ?? []) || joined(said);
}

/**
 * Returns what the agent has said: its artifacts or, without artifacts, the texts that it sent while it worked. If
 * there are such texts, artifacts with the output of tools do not count.
 */
function saidIn(task: Task): { readonly said: readonly string[]; readonly hasArtifacts: boolean } {
  const spoken = spokenSections(task);
  const outputs = spoken.length > 0 ? isCoderAgentOutput : () => false;
  const answers = (task.artifacts ?? []).filter(({ artifactId }) => !outputs(artifactId));
  const hasArtifacts = answers.length > 0;
  const sections = hasArtifacts ? answers.map(({ parts }) => parts) : spoken;
  return { said: sections.map(contentOf), hasArtifacts };
}

/**
 * Returns the question of a task that waits for input: the text parts of the status or, if there are none, all its
 * parts. Returns an empty text if the task does not wait, or if the agent's answer ends with the question.
 */
export function questionAfterAnswer(task: Task): string {
  const { status } = task;
  if (!isInterrupted(status.state)) return '';
  const parts = status.message?.parts ?? [];
  const words = parts.filter((part) => part.kind === 'text' && part.text !== '');
  const question = contentOf(words.length > 0 ? words : parts);
  return endsWithQuestion(saidIn(task).said.at(-1) ?? '', question) ? '' : question;
}

/** Joins texts so that each text starts on a new line. Leaves out empty texts. */
function joined(texts: readonly string[]): string {
  const full = texts.filter((text) => text !== '');
  return full.map((text, at) => (at < full.length - 1 ? ended(text) : text)).join('');
}

/** Adds a line break at the end, unless the text is empty or already ends with one. */
export function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Returns the name of the state, in its colour. */
export function stateOf(state: TaskState): string {
  if (state === 'completed') return green(state);
  if (state === 'failed' || state === 'rejected') return red(state);
  if (isInterrupted(state)) return yellow(state);
  return state === 'canceled' ? dim(state) : cyan(state);
}

/** Formats a timestamp in the local time zone, to the second. */
export function timeOf(timestamp: string | undefined): string {
  const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  if (Number.isNaN(time)) return '–';
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace('T', ' ');
}

/** Formats names and values, one pair per line. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  return columns(pairs.map(([name, value]) => [dim(name), value]))
    .map((line) => `${line}\n`)
    .join('');
}

/** Formats a task: its fields, then its answer. */
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
