/**
 * Converts ACP content blocks to message parts and back.
 *
 * A link to a file becomes a mention in the text (`@"/home/ann/a.ts"`), and the agent reads the file itself. Other
 * links, images, and files that the editor embeds, become file parts.
 */
import { fileURLToPath } from 'node:url';
import {
  RequestError,
  type ContentBlock,
  type EmbeddedResource,
  type ResourceLink,
} from '@agentclientprotocol/sdk';
import type { FilePart, Part } from '../protocol/index.ts';

const MAX_BLOCKS = 256;

export function partsFrom(blocks: readonly ContentBlock[]): Part[] {
  if (blocks.length === 0 || blocks.length > MAX_BLOCKS) {
    throw RequestError.invalidParams({}, `prompt: expected 1 to ${MAX_BLOCKS} content blocks`);
  }
  return blocks.flatMap(partsOf);
}

function partsOf(block: ContentBlock): Part[] {
  switch (block.type) {
    case 'text':
      return [text(block.text)];
    case 'image': {
      const { data: bytes, mimeType } = block;
      const name = block.uri ? nameOf(block.uri) : undefined;
      return [file({ bytes, mimeType, ...(name !== undefined && { name }) })];
    }
    case 'resource_link':
      return [linked(block)];
    case 'resource':
      return embedded(block);
    default:
      throw RequestError.invalidParams(
        {},
        `prompt: content of type ${block.type} is not supported`,
      );
  }
}

function linked({ uri, name, mimeType }: ResourceLink): Part {
  const path = pathOf(uri);
  if (path !== undefined && !/["\n]/.test(path)) return text(`@"${path}"`);
  return file({ uri, name, ...(mimeType && { mimeType }) });
}

function embedded({ resource }: EmbeddedResource): Part[] {
  const name = nameOf(resource.uri);
  const bytes =
    'text' in resource ? Buffer.from(resource.text, 'utf8').toString('base64') : resource.blob;
  const { mimeType } = resource;
  // The file name marks the file's position in the prompt. The content follows as a file part.
  return [text(`\`${name}\``), file({ bytes, name, ...(mimeType && { mimeType }) })];
}

/** Returns the content block for a part, or undefined for a file that has no URI and is not an image. */
export function blockFrom(part: Part): ContentBlock | undefined {
  if (part.kind === 'text') return { type: 'text', text: part.text };
  if (part.kind === 'data') return { type: 'text', text: JSON.stringify(part.data) };
  const { bytes, uri, mimeType, name = 'file' } = part.file;
  if (uri !== undefined) return { type: 'resource_link', uri, name };
  if (bytes !== undefined && mimeType?.startsWith('image/')) {
    return { type: 'image', data: bytes, mimeType };
  }
  // In a prompt from an editor, the text before such a part names the file (see `embedded`).
  return undefined;
}

function text(words: string): Part {
  return { kind: 'text', text: words };
}

function file(content: FilePart['file']): Part {
  return { kind: 'file', file: content };
}

/**
 * Returns a name for display. For a `file:` URI, this is the path with the line range that an editor appends (`#L3:9`).
 * Any other URI is returned unchanged.
 */
function nameOf(uri: string): string {
  const path = pathOf(uri);
  return path === undefined ? uri : path + (URL.parse(uri)?.hash ?? '');
}

function pathOf(uri: string): string | undefined {
  if (URL.parse(uri)?.protocol !== 'file:') return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}
