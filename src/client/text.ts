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

/** Returns the text of a message or of a task's answer. Returns an empty string if `answer` is undefined. */
export function answerText(answer: SendResult | undefined): string {
  if (answer === undefined) return '';
  const sections = answer.kind === 'message' ? [answer.parts] : answerSections(answer);
  const texts = sections.map(textOf);
  return texts.filter((each) => each !== '').join(SEPARATOR);
}

/** Does the same as `answerText`, but throws a TaskFailedError if the task has ended without success. */
export function successfulText(answer: SendResult | undefined): string {
  if (answer?.kind === 'task' && isFailure(answer.status.state)) throw new TaskFailedError(answer);
  return answerText(answer);
}

/** Separates two texts of a result. */
export const SEPARATOR = '\n\n';

/**
 * Returns the question that a task's answer ends with, if other text comes before it. Returns an empty string if there
 * is no question or no other text, or if the other text already ends with the question.
 */
export function questionAfterText(task: Task): string {
  const question = questionOf(task);
  const texts = sectionsBeforeStatus(task).map(textOf);
  const isRepeated = endsWithQuestion(texts.at(-1) ?? '', question);
  return texts.some((text) => text !== '') && !isRepeated ? question : '';
}

/**
 * Returns whether the text ends with the question. The text before the question must be empty or end with white space.
 */
export function endsWithQuestion(text: string, question: string): boolean {
  return text.endsWith(question) && /^$|\s$/.test(text.slice(0, text.length - question.length));
}

/**
 * Returns the question of a task that waits for the user, or an empty string for any other task. With the
 * development-tool extension, the status may have no text. The question then consists of the descriptions of the calls
 * that wait for an answer.
 */
function questionOf(task: Task): string {
  if (!isInterrupted(task.status.state)) return '';
  return textOf(statusParts(task)) || waitingCallsIn(task).map(callText).join(SEPARATOR);
}

/** Returns the parts of the message in the status, or no parts if it is not a message of the agent. */
function statusParts({ status: { message } }: Task): Part[] {
  return message?.role === 'agent' ? message.parts : [];
}

/**
 * Returns the sections of the answer that come before the status. Artifacts with the output of tools are left out:
 *
 * - If one of the other artifacts has a text, each of them is a section.
 * - If only the status has a text, there are no sections.
 * - If neither has a text, the sections are the texts that the agent sent while it worked. The coding agent and
 *   gemini-cli's server send such texts.
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

/**
 * Returns the sections of a task's answer, in order. Each section is a list of parts. If the task waits for the user,
 * the last section is the question. This section is empty if the earlier text already ends with the question. If there
 * is no text at all, returns all artifacts.
 */
function answerSections(task: Task): Part[][] {
  const before = sectionsBeforeStatus(task);
  if (before.some(hasText)) return [...before, [{ kind: 'text', text: questionAfterText(task) }]];
  const last = statusParts(task);
  if (hasText(last)) return [last];
  const question = questionOf(task);
  if (question !== '') return [[{ kind: 'text', text: question }]];
  return (task.artifacts ?? []).map(({ parts }) => parts);
}

/** Returns the agent's texts since the last message of the user, in sections. A message without text ends a section. */
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
 * Makes a function that takes each event and returns the text that the event adds. A resumed stream may start with a
 * snapshot, which repeats earlier text. Of a snapshot, only the new text is returned. If the earlier text of an
 * artifact has changed, its whole text is returned.
 */
export function createTextTracker(): (event: StreamEvent) => string {
  const given = new Map<string, string>();
  let current: string | undefined;
  /** Whether the agent sends its texts in status updates, as the coding agent does. */
  let speaks = false;
  /** Number of sections so far in these texts. A message without text ends a section. */
  let texts = 0;
  let ended = true;

  /** Adds the separator if the previous text belongs to another artifact or section. */
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
