/**
 * Checks whether a model accepts a request. Enforces the limits of the model (limits.ts), and selects the providers
 * that accept the files of the request. models.ts calls `admitted` before it reserves a budget or calls a provider.
 * Chat requests with the option `free` (models.ts), which cost nothing, are not checked.
 *
 * A request that the model does not support is refused, with three exceptions. If the request allows more output tokens
 * than the model does, the number is lowered, because it is only an upper bound. If the request asks for a stream and
 * the model does not support streaming, the client gets each text in one chunk. If a tool returned a file that the
 * provider does not accept, the provider gets a note instead. But if the model's limits exclude this file, the request
 * is refused.
 */
import type { Content, ContentPart, ModelRequest } from '../../agent/index.ts';
import type { Relay } from './relay/relay.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Candidate, ModelTarget } from './catalogue.ts';
import type { ProviderConfig } from './config.ts';
import { CONTEXT_LENGTH_EXCEEDED } from './failure.ts';
import { FILE_KINDS, type FileKind, isTextFile, type ModelLimits, streams } from './limits.ts';
import { relays } from './provider.ts';
import { tokenCounter } from './token-count.ts';

const FILE_WORDS: Readonly<Record<FileKind, string>> = {
  image: 'images',
  audio: 'audio',
  video: 'video',
  pdf: 'PDF files',
  file: 'other files',
};

/** Formats a list such as `text, images and PDF files`. */
const LIST = new Intl.ListFormat('en-GB');

/** The kinds of files that a request to a provider can contain. A model of the provider may accept fewer kinds. */
const PROVIDER_FILES: Readonly<Record<ProviderConfig['type'], readonly FileKind[]>> = {
  openai: ['image', 'pdf'],
  'openai-compatible': ['image', 'audio', 'pdf'],
  anthropic: ['image', 'pdf'],
  google: FILE_KINDS,
  offline: [],
  // A script answers requests with any kind of file.
  scripted: FILE_KINDS,
};

/** Facts about the client's own request. The converted `request` may lack some of its details. */
export interface OwnRequest {
  readonly relay?: Pick<Relay, 'accepts'> | undefined;
  /** Whether the client's own request has tools, including tools that run at the vendor. */
  readonly hasTools?: boolean | undefined;
}

/**
 * Returns the request within the model's limits, and the model with only the providers that accept the files. Throws
 * `contentTypeNotSupported` or `invalidParams` if the model does not support the request.
 */
export function admitted(
  target: ModelTarget,
  request: ModelRequest,
  { relay, hasTools = (request.tools?.length ?? 0) > 0 }: OwnRequest = {},
): { readonly target: ModelTarget; readonly request: ModelRequest } {
  const { name, limits } = target;
  if (limits.without.has('tools') && hasTools) {
    const description = `the model ${name} does not support tools: leave them out`;
    const violations = [{ field: 'tools', description }];
    throw new A2AError('invalidParams', `tools: ${description}`, { violations });
  }
  const files = filesIn(request.messages);
  const candidates = files.length === 0 ? target.candidates : takers(target, files, relay);
  checkLength(target, request);
  return {
    target: candidates === target.candidates ? target : { ...target, candidates },
    request: limited(request, limits),
  };
}

/** Returns whether a part of an earlier message can be sent to the model. Only a file can be refused. */
export function accepts(target: ModelTarget, part: ContentPart): boolean {
  const file = fileOf(part);
  if (file === undefined) return true;
  const { candidates, limits } = target;
  return !excludes(limits, file) && candidates.some((candidate) => takes(candidate, file));
}

/** Throws `invalidParams` if the estimated length of a prompt exceeds the model's context window. */
function checkLength(target: ModelTarget, request: ModelRequest): void {
  const { contextWindow = Infinity } = target.limits;
  if (contextWindow === Infinity) return;
  const tokens = promptTokens(request);
  if (tokens <= contextWindow) return;
  const message = `The model ${target.name} accepts at most ${contextWindow} tokens, and the request has about ${tokens}: send less`;
  throw new A2AError('invalidParams', message, { reason: CONTEXT_LENGTH_EXCEEDED });
}

/**
 * Counts a prompt for the comparison with the context window. Unlike the count for budgets, this count is not
 * multiplied by the factor of the vendor's tokenizer, so it may be too low. If the prompt is close to the limit, the
 * provider decides whether to accept it.
 */
export function promptTokens(request: ModelRequest): number {
  return tokenCounter([]).prompt(request);
}

function limited(request: ModelRequest, limits: ModelLimits): ModelRequest {
  const { maxOutputTokens: most } = limits;
  const isWhole = !streams({ limits });
  if (most === undefined && !isWhole) return request;
  return {
    ...request,
    ...(most !== undefined && {
      maxOutputTokens: Math.min(most, request.maxOutputTokens ?? most),
    }),
    ...(isWhole && { streaming: false as const }),
  };
}

interface FileFacts {
  readonly kind: FileKind;
  /** The media type in lower case and without parameters. Empty if the client did not send a valid one. */
  readonly mediaType: string;
  /** True if the request contains only the address of the file. */
  readonly isAddress: boolean;
}

interface SentFile extends FileFacts {
  /** True if a tool returned the file. A provider that does not accept such a file gets a note instead. */
  readonly fromTool: boolean;
}

function filesIn(messages: readonly Content[]): SentFile[] {
  const files: SentFile[] = [];
  const add = (part: ContentPart, fromTool: boolean) => {
    const file = fileOf(part);
    if (file) files.push({ ...file, fromTool });
  };
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.kind === 'function-response') part.parts?.forEach((file) => add(file, true));
      else add(part, false);
    }
  }
  return files;
}

/** Returns the facts about a file, or undefined for other parts and for files that are sent as text. */
function fileOf(part: ContentPart): FileFacts | undefined {
  if (part.kind !== 'blob' && part.kind !== 'file') return undefined;
  const [, mediaType = '', type] =
    /^\s*(([\w.+-]+)\/[^\s;]+)/.exec(part.mediaType?.toLowerCase() ?? '') ?? [];
  if (part.kind === 'blob' && isTextFile(mediaType)) return undefined;
  const isAddress = part.kind === 'file';
  if (mediaType === 'application/pdf') return { kind: 'pdf', mediaType, isAddress };
  const isMedia = type === 'image' || type === 'audio' || type === 'video';
  return { kind: isMedia ? type : 'file', mediaType, isAddress };
}

/** A file without a valid media type may be of any kind. So it is excluded if any kind is excluded. */
function excludes({ without }: ModelLimits, { kind, mediaType }: FileFacts): boolean {
  return mediaType === '' ? FILE_KINDS.some((each) => without.has(each)) : without.has(kind);
}

/**
 * Returns the providers that accept the files. A provider that gets the client's own request (relay/) is always
 * included, because it checks the files itself. A file that a tool returned excludes no provider. Throws
 * `contentTypeNotSupported` if the limits of the model exclude a file, or if no provider accepts all files outside tool
 * responses.
 */
function takers(
  target: ModelTarget,
  files: readonly SentFile[],
  relay: Pick<Relay, 'accepts'> | undefined,
): readonly Candidate[] {
  const { candidates, limits } = target;
  const refused = files.find((file) => excludes(limits, file));
  if (refused) throw notAccepted(target, refused);
  const sent = files.filter(({ fromTool }) => !fromTool);
  const able = candidates.filter((candidate) => {
    const { provider } = candidate;
    if (relay && relays(provider, relay)) return true;
    return sent.every((file) => takes(candidate, file));
  });
  if (able.length === candidates.length) return candidates;
  if (able.length > 0) return able;
  const refusedByAll = sent.find((file) => !candidates.some((candidate) => takes(candidate, file)));
  throw notAccepted(target, refusedByAll);
}

/**
 * Returns whether the provider accepts the file. The gateway downloads no files. If a file is only an address, the
 * provider has to download it. Providers of the type `openai-compatible` are not allowed to download files for callers
 * (openai/relay.ts), so they do not accept addresses.
 */
function takes({ provider }: Candidate, file: Omit<FileFacts, 'mediaType'>): boolean {
  const { kind, isAddress } = file;
  const { type } = provider.config;
  return !(isAddress && type === 'openai-compatible') && PROVIDER_FILES[type].includes(kind);
}

/**
 * Creates the error for a file that is not accepted. If `file` is undefined, each file is accepted by some provider,
 * but no provider accepts all of them.
 */
function notAccepted(target: ModelTarget, file: SentFile | undefined): A2AError {
  const { name, candidates, limits } = target;
  const kinds = FILE_KINDS.filter(
    (each) =>
      !limits.without.has(each) &&
      candidates.some((candidate) => takes(candidate, { kind: each, isAddress: false })),
  );
  const accepted = LIST.format(['text', ...kinds.map((kind) => FILE_WORDS[kind])]);
  const refusal = (message: string) =>
    new A2AError('contentTypeNotSupported', message, { info: { supported: accepted } });
  if (!file)
    return refusal(
      `No provider of the model ${name} accepts all of these files: send fewer kinds of files`,
    );
  const { kind, isAddress, mediaType } = file;
  if (mediaType === '')
    return refusal(
      `The model ${name} does not accept files of unknown type: send the media type. It accepts ${accepted}`,
    );
  return isAddress && (isTextFile(mediaType) || kinds.includes(kind))
    ? refusal(`The model ${name} cannot download a file of this kind: send its content`)
    : refusal(`The model ${name} does not accept ${mediaType}. It accepts ${accepted}`);
}
