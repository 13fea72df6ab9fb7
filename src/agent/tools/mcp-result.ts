/**
 * Converts the content that an MCP server sends (results of tools, prompts and resources) to content for the model. The
 * result is text or data, with images and files in addition.
 *
 * Images, PDF documents, audio, video and links to files are passed on to the model, up to a limit. For each request,
 * models/prompt.ts decides whether the model accepts them. Every binary file that is sent with its content is also
 * saved (if the caller can save files), except images that are passed on. For each of these files, the model gets a
 * note with the type, the size and, if the file was saved, the path. Only the first MAX_NOTES such files of a response
 * are saved and described.
 */
import { isDeepStrictEqual } from 'node:util';
import { cutText, elide, sizeOf, UNKNOWN_MEDIA_TYPE, type JsonValue } from '../../base/index.ts';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { BlobPart, FileContentPart } from '../content.ts';
import { acceptedFile } from '../models/accepted-files.ts';
import { RichResponse } from '../tool.ts';
import { McpError } from './mcp-error.ts';
import { jsonResponse, MAX_RESPONSE_LENGTH } from '../tool-result.ts';

/** Maximum number of files in one response that are saved or described in a note. */
const MAX_NOTES = 50;
/** Maximum number of images and files in one response that are passed on to the model. */
const MAX_PARTS = 20;
/** Maximum total size of the images and files that are passed on, in characters of base64. */
const MAX_PARTS_SIZE = 10 * 2 ** 20;
/** Maximum length of an error message, because it is stored in the conversation and in logs. */
const MAX_ERROR_LENGTH = 4_000;
/** Maximum length of a name or a media type from the server. */
const MAX_NAME_LENGTH = 200;

/** A file that an MCP server sent. */
export interface McpFile {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** Saves a file and returns its path, or undefined if it cannot be saved. Must not throw. */
export type SaveMcpFile = (file: McpFile) => Promise<string | undefined>;

export interface McpContent {
  /** The texts and notes, in the order of the content blocks. */
  readonly texts: readonly string[];
  readonly parts: readonly (BlobPart | FileContentPart)[];
}

/**
 * Converts the result. Throws if the tool reported an error, so that the model gets this error like any other error.
 *
 * @internal
 */
export async function readResult(
  result: CallToolResult,
  save?: SaveMcpFile,
): Promise<JsonValue | RichResponse> {
  const { texts, parts } = await readContent(result.content ?? [], save);
  const text = texts.join('\n\n');
  const { structuredContent: data } = result;
  if (result.isError === true) {
    const said = text === '' && data !== undefined ? JSON.stringify(data) : text;
    throw new McpError(
      'tool',
      elide(said, MAX_ERROR_LENGTH) || 'the tool failed without a message',
    );
  }
  const response = jsonResponse(bothOf(texts, data), MAX_RESPONSE_LENGTH);
  return parts.length > 0 ? new RichResponse(response, { parts }) : response;
}

/**
 * Converts content blocks, in the same way for tools, prompts and resources.
 *
 * @internal
 */
export async function readContent(
  blocks: readonly ContentBlock[],
  save?: SaveMcpFile,
): Promise<McpContent> {
  const texts: string[] = [];
  const parts: (BlobPart | FileContentPart)[] = [];
  let size = 0;
  let noted = 0;
  for (const block of blocks) {
    const part = partOf(block);
    if (typeof part === 'string') {
      texts.push(part);
      continue;
    }
    const length = part.kind === 'blob' ? part.data.length : part.uri.length;
    const fits = parts.length < MAX_PARTS && size + length <= MAX_PARTS_SIZE;
    const accepted = part.kind === 'blob' ? acceptedFile(part) : part;
    const isPart = fits && accepted !== undefined;
    if (isPart) {
      size += length;
      parts.push(accepted);
    }
    // Images are sent to every vendor. Other files are also saved, so that they can be used with every model.
    const isImage = accepted?.mediaType?.startsWith('image/') === true;
    if (part.kind === 'blob' && !(fits && isImage)) {
      noted += 1;
      if (noted <= MAX_NOTES) texts.push(await noteOf(part, isPart, save));
    } else if (!fits) texts.push(`[link to ${part.mediaType ?? 'a file'} omitted]`);
  }
  if (noted > MAX_NOTES) texts.push(`[${noted - MAX_NOTES} more files omitted]`);
  return { texts, parts };
}

/**
 * Returns the text and the structured data of a result. Servers should repeat the data as text for older clients. If
 * they do, only one of the two is returned.
 */
function bothOf(texts: readonly string[], data: unknown): unknown {
  const text = texts.join('\n\n');
  if (data === undefined) return text;
  if (text === '') return data;
  // Many servers wrap a value that is not an object as { result: value }.
  const values: unknown[] = typeof data === 'object' && data ? Object.values(data) : [];
  const [value] = values.length === 1 ? values : [data];
  if (value === text) return text;
  const said = texts.map(parsed);
  const repeated = [data, value].some(
    (each) => isDeepStrictEqual(parsed(text), each) || isDeepStrictEqual(said, each),
  );
  return repeated ? data : { content: text, structuredContent: data };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function partOf(block: ContentBlock): string | BlobPart | FileContentPart {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return blobOf(block.mimeType, block.data);
    case 'resource_link': {
      const { uri, name, mimeType } = block;
      const mediaType = mimeType && cutText(mimeType, MAX_NAME_LENGTH);
      return {
        kind: 'file',
        uri,
        name: cutText(name, MAX_NAME_LENGTH),
        ...(mediaType !== undefined && { mediaType }),
      };
    }
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return `${resource.uri}\n${resource.text}`;
      const { mimeType = UNKNOWN_MEDIA_TYPE, blob, uri } = resource;
      if (!/^text\/|[/+](?:json|xml)$/.test(mimeType)) return blobOf(mimeType, blob, uri);
      return `${uri}\n${Buffer.from(blob, 'base64').toString('utf8')}`;
    }
    default:
      return '[content of an unknown type omitted]';
  }
}

function blobOf(mimeType: string, data: string, name?: string): BlobPart {
  return {
    kind: 'blob',
    mediaType: cutText(mimeType.toLowerCase(), MAX_NAME_LENGTH),
    data,
    ...(name !== undefined && { name: cutText(name, MAX_NAME_LENGTH) }),
  };
}

/** Saves a file if possible, and returns a note about the file for the model. */
async function noteOf(
  { mediaType, data, name }: BlobPart,
  isPart: boolean,
  save?: SaveMcpFile,
): Promise<string> {
  const bytes = Buffer.from(data, 'base64');
  const what = `${name === undefined ? '' : `${name}: `}${mediaType}, ${sizeOf(bytes.length)}`;
  const path = await save?.({ bytes, mediaType });
  if (path !== undefined) return `[${what}, saved as ${path}]`;
  return isPart ? `[${what}]` : `[${what}, not shown]`;
}
