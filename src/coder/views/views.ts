/**
 * The views of a coding task's log.
 *
 * - A client with the development-tool extension sees the log: text, thoughts and calls are status updates, and there
 *   is no artifact. It sees a question as a call that waits for an answer, so it does not get the question in words.
 * - A client of gemini-cli's a2a-server has its own view (gemini/view.ts).
 * - Every other client sees plain A2A: states, questions in words, and the text of each turn as the chunks of one
 *   artifact. It sees no thoughts, no calls, and no metadata of the extension.
 *
 * The id of an agent's message shows which kind of message it is (protocol/development-tool/message-ids.ts). In logs of
 * earlier versions of Parley, chunks of text have other ids. A plain client does not get these chunks, because the
 * status `completed` of such a log contains the whole answer.
 */
import { defined } from '../../base/index.ts';
import {
  isCompatible,
  isQuestionInWords,
  looksLikeConfirmation,
  majorVersion,
  textPlace,
  type TextPlace,
} from '../../protocol/development-tool/index.ts';
import {
  appendParts,
  isSettled,
  ONE_TEXT_KEY,
  type Artifact,
  type Message,
  type Metadata,
  type Part,
  type TaskArtifactUpdateEvent,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import type { LogView, ViewRequest } from '../../tasks/index.ts';

/** Separates two paragraphs of an answer. A tool call or a thought starts a new paragraph. */
const PARAGRAPH = '\n\n';

export const developmentToolView: LogView = {
  name: 'development-tool',
  task(task) {
    const { status, history } = task;
    const shown = history?.some(isForPlain) ? history.filter((each) => !isForPlain(each)) : history;
    const isHidden = status.message !== undefined && isForPlain(status.message);
    if (shown === history && !isHidden) return task;
    if (!isHidden) return { ...task, history: shown };
    // The status message is hidden. If the state is not settled, the last visible message of the history replaces it.
    const before = isSettled(status.state) ? undefined : shown?.at(-1);
    return {
      ...task,
      ...(shown && { history: before ? shown.slice(0, -1) : shown }),
      status: before ? { ...status, message: before } : withoutMessage(status),
    };
  },
  update(event) {
    if (event.kind !== 'status-update') return event;
    const { status } = event;
    if (!status.message || !isForPlain(status.message)) return event;
    return isSettled(status.state) ? { ...event, status: withoutMessage(status) } : undefined;
  },
};

/**
 * Returns whether a message is only for clients without the extension. Such a message is a question in words, or an
 * empty chunk that marks the end of a text.
 */
function isForPlain(message: Message): boolean {
  return isQuestionInWords(message) || (isEmpty(message) && textPlace(message)?.isLast === true);
}

function isEmpty({ parts }: Message): boolean {
  return parts.every((part) => part.kind === 'text' && part.text === '');
}

export const plainView: LogView = {
  name: 'plain',
  task(task) {
    const { status, history, artifacts = [], metadata, ...rest } = task;
    const answers = new Answers();
    const messages = (history ?? []).flatMap((message) => answers.take(message));
    const shown = plainStatus(status);
    if (status.message && !shown.message) answers.take(status.message);
    const all = [...artifacts, ...answers.artifacts];
    return {
      ...rest,
      status: shown,
      ...defined({
        history: history && messages,
        artifacts: all.length > 0 ? all : undefined,
        metadata: withoutExtension(metadata),
      }),
    };
  },
  update(event) {
    if (event.kind !== 'status-update') return event;
    const { message, state } = event.status;
    if (message?.role === 'agent' && !isSettled(state)) return chunk(event, message);
    const { metadata, ...rest } = event;
    const own = defined({ metadata: withoutExtension(metadata) });
    return { ...rest, status: plainStatus(event.status), ...own };
  },
};

/** Collects the agent's texts in the messages of a task, and makes artifacts of them. */
class Answers {
  readonly #artifacts = new Map<string, Artifact>();

  /** Returns the message as a plain client sees it in the history, or an empty list if the client does not see it. */
  take(message: Message): Message[] {
    if (message.role === 'user') return plainMessage(message);
    const place = textPlace(message);
    if (!place) return isQuestionInWords(message) ? [message] : [];
    const { answerId } = place;
    const known = this.#artifacts.get(answerId);
    if (known) appendParts(known, partsOf(message, place));
    else this.#artifacts.set(answerId, beginning(answerId, partsOf(message, place)));
    return [];
  }

  get artifacts(): Artifact[] {
    return [...this.#artifacts.values()];
  }
}

/** Returns the parts of a message as they appear in the artifact. */
function partsOf({ parts }: Message, { paragraph, chunk: at }: TextPlace): Part[] {
  const [first, ...others] = parts;
  if (first?.kind !== 'text' || paragraph === 0 || at > 0) return [...parts];
  return [{ ...first, text: PARAGRAPH + first.text }, ...others];
}

function beginning(artifactId: string, parts: Part[]): Artifact {
  return {
    artifactId,
    name: 'response',
    parts,
    metadata: { [ONE_TEXT_KEY]: true },
  };
}

/**
 * Converts a status update with text to a chunk of the artifact. Returns undefined for other updates, which a plain
 * client does not see.
 */
function chunk(
  { taskId, contextId }: TaskStatusUpdateEvent,
  message: Message,
): TaskArtifactUpdateEvent | undefined {
  const place = textPlace(message);
  if (!place) return undefined;
  const { answerId: artifactId, isLast } = place;
  const parts = partsOf(message, place);
  const isFirst = place.paragraph === 0 && place.chunk === 0;
  return {
    kind: 'artifact-update',
    taskId,
    contextId,
    // A client's stream may begin with any paragraph, for example with the paragraph after the client's answer. So the
    // first chunk of each paragraph has the artifact's name and metadata.
    artifact: place.chunk === 0 ? beginning(artifactId, parts) : { artifactId, parts },
    ...(!isFirst && { append: true }),
    ...(isLast && { lastChunk: true }),
  };
}

function plainStatus(status: TaskStatus): TaskStatus {
  const { message } = status;
  if (!message) return status;
  if (message.role === 'agent') return isSettled(status.state) ? status : withoutMessage(status);
  const [shown] = plainMessage(message);
  return shown ? { ...status, message: shown } : withoutMessage(status);
}

function withoutMessage(status: TaskStatus): TaskStatus {
  const { message: _, ...rest } = status;
  return rest;
}

/** Returns a user's message without the data of the extension, or an empty list if nothing else is left. */
function plainMessage(message: Message): Message[] {
  const parts = message.parts.filter(
    (part) => part.kind !== 'data' || !looksLikeConfirmation(part.data),
  );
  if (parts.length === 0) return [];
  const { metadata, extensions, ...rest } = message;
  const others = extensions?.filter((uri) => majorVersion(uri) === undefined);
  const named = others?.length ? others : undefined;
  const own = defined({ metadata: withoutExtension(metadata), extensions: named });
  return [{ ...rest, parts, ...own }];
}

/**
 * Returns the metadata without the keys of the extension and without the key `other`. Returns undefined if no metadata
 * is left.
 */
export function withoutExtension(
  metadata: Metadata | undefined,
  other?: string,
): Metadata | undefined {
  if (!metadata) return undefined;
  const own = Object.entries(metadata).filter(
    ([key]) => key !== other && majorVersion(key) === undefined,
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The parts of a request that can name extensions. */
type Naming = Pick<ViewRequest, 'extensions' | 'message' | 'metadata'>;

/** Returns whether a request uses the extension, that is, names the extension or has metadata of the extension. */
export function isActive(request: Naming): boolean {
  return namedExtensions(request).some(isCompatible);
}

/** Returns the URIs of the extensions that a request names: in a header, in the message or as keys of metadata. */
export function namedExtensions({ extensions, message, metadata }: Naming): string[] {
  const used = { ...metadata, ...message?.metadata };
  return [...extensions, ...(message?.extensions ?? []), ...Object.keys(used)];
}
