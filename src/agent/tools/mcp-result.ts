/** Converts the result of an MCP tool to a response for the model: text or data, and in addition images and files. */
import type { JsonValue } from '../../base/index.ts';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { BlobPart, FileContentPart } from '../content.ts';
import { RichResponse } from '../tool.ts';
import { McpError } from './mcp-error.ts';
import { elide, jsonResponse, MAX_RESPONSE_LENGTH } from '../tool-result.ts';

/** Maximum number of images and files in one response. */
const MAX_PARTS = 20;
/** Maximum total size of the images and files in one response, in characters of base64. */
const MAX_PARTS_SIZE = 10 * 2 ** 20;
/** Maximum length of an error message, which is stored in the conversation and in logs. */
const MAX_ERROR_LENGTH = 4_000;

/** Converts the result. Throws if the tool reported an error, so that the model gets it like any other error. */
export function readResult(result: CallToolResult): JsonValue | RichResponse {
  const words: string[] = [];
  const parts: (BlobPart | FileContentPart)[] = [];
  let size = 0;
  for (const block of result.content ?? []) {
    const part = partOf(block);
    if (typeof part === 'string') {
      words.push(part);
      continue;
    }
    const length = part.kind === 'blob' ? part.data.length : part.uri.length;
    if (parts.length >= MAX_PARTS || size + length > MAX_PARTS_SIZE) {
      words.push(`[${part.mediaType ?? 'a file'} of ${length} characters omitted]`);
      continue;
    }
    size += length;
    parts.push(part);
  }
  const text = words.join('\n\n');
  if (result.isError === true) {
    throw new McpError(
      'tool',
      elide(text, MAX_ERROR_LENGTH) || 'the tool failed without a message',
    );
  }
  // If there is structured data, the text repeats it for older clients.
  const response = jsonResponse(result.structuredContent ?? text, MAX_RESPONSE_LENGTH);
  return parts.length > 0 ? new RichResponse(response, { parts }) : response;
}

function partOf(block: ContentBlock): string | BlobPart | FileContentPart {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return { kind: 'blob', mediaType: block.mimeType, data: block.data };
    case 'resource_link': {
      const { uri, name, mimeType } = block;
      return { kind: 'file', uri, name, ...(mimeType !== undefined && { mediaType: mimeType }) };
    }
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return `${resource.uri}\n${resource.text}`;
      const mediaType = resource.mimeType ?? 'application/octet-stream';
      return { kind: 'blob', mediaType, data: resource.blob, name: resource.uri };
    }
    default:
      return '[content of an unknown type omitted]';
  }
}
