/**
 * Extracts the text of a result, complete or as it arrives. An empty line separates the texts of two artifacts, and the
 * texts before and after a tool call.
 */
import { isCoderAgentOutput, updateKind } from '../protocol/development-tool/index.ts';
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
 * Returns the question that the task waits for, if the artifacts have a text and do not end with the question. Without a
 * text in the artifacts, the question is the whole answer.
 */
export function questionAfterText(task: Task): string {
  const { state, message } = task.status;
  if (!isInterrupted(state) || message?.role !== 'agent') return '';
  const texts = answersOf(task).map(({ parts }) => textOf(parts));
  const question = textOf(message.parts);
  const last = texts.at(-1) ?? '';
  const isRepeated = last.endsWith(question) && /^$|\s$/.test(last.slice(0, -question.length));
  return texts.some((text) => text !== '') && !isRepeated ? question : '';
}

/** Returns the artifacts with the answer, without the output of tools. */
function answersOf({ artifacts = [] }: Task): Artifact[] {
  return artifacts.filter(({ artifactId }) => !isCoderAgentOutput(artifactId));
}

/**
 * Returns the parts of a task's answer. The answer consists of the artifacts and, if the task waits for the user, of its
 * question. If the artifacts have no text, the answer is the message of the status. If this message has no text either, the answer consists of the texts that the agent sent while
 * it worked, as gemini-cli's server does.
 */
function answerSections(task: Task): Part[][] {
  const { artifacts = [], status } = task;
  const hasText = (parts: readonly Part[]): boolean => textOf(parts) !== '';
  const answers = answersOf(task).map(({ parts }) => parts);
  if (answers.some(hasText)) return [...answers, [{ kind: 'text', text: questionAfterText(task) }]];
  const last = status.message && status.message.role === 'agent' ? status.message.parts : [];
  const spoken = hasText(last) ? [last] : spokenSections(task);
  return spoken.length > 0 ? spoken : [...artifacts.map(({ parts }) => parts), last];
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
