/** What an MCP tool answered, as a response for the model: words and data, with pictures and files beside them. */
import type { JsonValue } from '../../base/index.ts';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { BlobPart, FileContentPart } from '../content.ts';
import { RichResponse } from '../tool.ts';
import { McpError } from './mcp-error.ts';
import { elide, jsonResponse, MAX_RESPONSE_LENGTH } from '../tool-result.ts';

/** Pictures and files beside one response. */
const MAX_PARTS = 20;
/** Characters of base64 in all of them. */
const MAX_PARTS_SIZE = 10 * 2 ** 20;
/** Of an error: it stands in the conversation and in logs. */
const MAX_ERROR_LENGTH = 4_000;

/** Throws the tool's own error, so that the model is told of it as of any other. */
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
      words.push(`[${part.mediaType ?? 'a file'} of ${length} characters left out]`);
      continue;
    }
    size += length;
    parts.push(part);
  }
  const text = words.join('\n\n');
  if (result.isError === true) {
    throw new McpError(
      'tool',
      elide(text, MAX_ERROR_LENGTH) || 'the tool failed, and says no more',
    );
  }
  // Where there is data, the text is the same once more (the protocol asks for it, for older clients).
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
      return '[something of an unknown kind left out]';
  }
}
