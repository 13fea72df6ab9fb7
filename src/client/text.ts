/**
 * Extracts the text of a result, complete or as it arrives. An empty line separates the texts of two artifacts, and the
 * texts before and after a tool call.
 */
import {
  callText,
  isCoderAgentOutput,
  updateKind,
  waitingCallsIn,
} from '../protocol/development-tool/index.ts';
import {
  isFailure,
  isInterrupted,
  textOf,
  type Artifact,
  type Part,
  type SendResult,
  type StreamEvent,
  type Task,
  type TaskStatusUpdateEvent,
} from '../protocol/index.ts';
import { TaskFailedError } from './connection/errors.ts';

/** Returns the text of a message or of a task's answer. */
export function answerText(answer: SendResult | undefined): string {
  if (answer === undefined) return '';
  const sections = answer.kind === 'message' ? [answer.parts] : answerSections(answer);
  const texts = sections.map(textOf);
  return texts.filter((each) => each !== '').join(SEPARATOR);
}

/** Returns the text of a result. Throws a TaskFailedError if the task has ended without success. */
export function successfulText(answer: SendResult | undefined): string {
  if (answer?.kind === 'task' && isFailure(answer.status.state)) throw new TaskFailedError(answer);
  return answerText(answer);
}

/** Separates two texts of a result. */
export const SEPARATOR = '\n\n';

/**
 * Returns the question of a task that waits for the user, if the answer has other text before the question. Returns an
 * empty string if there is no other text, or if that text already ends with the question.
 */
export function questionAfterText(task: Task): string {
  const question = questionOf(task);
  const texts = sectionsBeforeStatus(task).map(textOf);
  const isRepeated = endsWithQuestion(texts.at(-1) ?? '', question);
  return texts.some((text) => text !== '') && !isRepeated ? question : '';
}

/** Returns whether the text ends with the question, at the start of a word. */
export function endsWithQuestion(text: string, question: string): boolean {
  return text.endsWith(question) && /^$|\s$/.test(text.slice(0, text.length - question.length));
}

/**
 * Returns the question of a task that waits for the user. With the development-tool extension, the status may have no
 * text. The question is then about the calls that wait for an approval.
 */
function questionOf(task: Task): string {
  if (!isInterrupted(task.status.state)) return '';
  return textOf(statusParts(task)) || waitingCallsIn(task).map(callText).join(SEPARATOR);
}

/** Returns the parts of the agent's message in the status. */
function statusParts({ status: { message } }: Task): Part[] {
  return message?.role === 'agent' ? message.parts : [];
}

/**
 * Returns the artifacts with the answer, without the output of tools. If they have no text, and the status has none
 * either, returns the texts that the agent sent while it worked, as the coding agent and gemini-cli's server do.
 */
function sectionsBeforeStatus(task: Task): Part[][] {
  const answers = (task.artifacts ?? [])
    .filter(({ artifactId }) => !isCoderAgentOutput(artifactId))
    .map(({ parts }) => parts);
  if (answers.some(hasText)) return answers;
  return hasText(statusParts(task)) ? [] : spokenSections(task);
}

function hasText(parts: readonly Part[]): boolean {
  return textOf(parts) !== '';
}

/** Returns the parts of a task's answer, in order. The last of them is the question, if the task waits for the user. */
function answerSections(task: Task): Part[][] {
  const before = sectionsBeforeStatus(task);
  if (before.some(hasText)) return [...before, [{ kind: 'text', text: questionAfterText(task) }]];
  const last = statusParts(task);
  if (hasText(last)) return [last];
  const question = questionOf(task);
  if (question !== '') return [[{ kind: 'text', text: question }]];
  return (task.artifacts ?? []).map(({ parts }) => parts);
}

/** Returns the agent's texts since the last message of the user. A message without text ends a section. */
export function spokenSections({ history = [] }: Task): Part[][] {
  const since = history.findLastIndex(({ role }) => role === 'user');
  const sections: Part[][] = [];
  let ended = true;
  for (const { parts } of history.slice(since + 1)) {
    const texts = parts.filter((part) => part.kind === 'text' && part.text !== '');
    if (texts.length > 0 && ended) sections.push([]);
    ended = texts.length === 0;
    sections.at(-1)?.push(...texts);
  }
  return sections;
}

/**
 * Makes a function that returns the text that each event adds. A resumed stream may start with a snapshot, which
 * repeats earlier text. Then only the new text is returned.
 */
export function createTextTracker(): (event: StreamEvent) => string {
  const given = new Map<string, string>();
  let current: string | undefined;
  /** Whether the agent sends its texts in status updates, as the coding agent does. */
  let speaks = false;
  /** Number of sections so far in these texts. A message without text ends a section. */
  let texts = 0;
  let ended = true;

  /** Adds the separator if the previous text belongs to another artifact. */
  function separated(artifactId: string, text: string): string {
    if (text === '' || current === artifactId) return text;
    const first = current === undefined;
    current = artifactId;
    return first ? text : SEPARATOR + text;
  }

  function whole(artifact: Artifact): string {
    const text = textOf(artifact.parts);
    const before = given.get(artifact.artifactId) ?? '';
    given.set(artifact.artifactId, text);
    return separated(
      artifact.artifactId,
      text.startsWith(before) ? text.slice(before.length) : text,
    );
  }

  function spoken({ status, metadata }: TaskStatusUpdateEvent): string {
    const kind = updateKind(metadata);
    if (kind === undefined) return '';
    speaks = true;
    const { message } = status;
    if (message?.role !== 'agent' || /^state.change$/i.test(kind)) return '';
    const text = textOf(message.parts);
    if (text !== '' && ended) texts++;
    ended = text === '';
    return separated(`spoken ${texts}`, text);
  }

  return (event) => {
    if (event.kind === 'status-update') return spoken(event);
    if (event.kind === 'message') return textOf(event.parts);
    if (event.kind === 'task') {
      let text = '';
      for (const artifact of event.artifacts ?? []) text += whole(artifact);
      return text;
    }
    if (speaks && isCoderAgentOutput(event.artifact.artifactId)) return '';
    if (event.append !== true) return whole(event.artifact);
    const { artifactId } = event.artifact;
    const text = textOf(event.artifact.parts);
    given.set(artifactId, (given.get(artifactId) ?? '') + text);
    return separated(artifactId, text);
  };
}
