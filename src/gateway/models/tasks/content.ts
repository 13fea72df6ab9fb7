/** Converts the messages of tasks to the content that models get. */
import type { BlobPart, Content, ContentPart, FileContentPart } from '../../../agent/index.ts';
import { UNKNOWN_MEDIA_TYPE } from '../../../base/index.ts';
import { acceptedFile } from '../../../agent/internal/index.ts';
import { fromA2AMessage } from '../../../bridge/index.ts';
import type { Message } from '../../../protocol/index.ts';

/**
 * Media types by file extension. They are used for files that are sent as a URL, because clients often omit the media
 * type.
 */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
};

/**
 * Converts a message. An unknown media type of a file is detected if possible: from the content of the file, or from
 * the file extension if the file is sent as a URL.
 */
export function modelContent(message: Pick<Message, 'role' | 'parts'>): Content {
  const { role, parts } = fromA2AMessage(message);
  return { role, parts: parts.map(typed) };
}

function typed(part: ContentPart): ContentPart {
  if (part.kind === 'blob' && part.mediaType === UNKNOWN_MEDIA_TYPE)
    return acceptedFile(part) ?? part;
  if (part.kind !== 'file' || part.mediaType !== undefined) return part;
  const mediaType = typeByName(part);
  return mediaType === undefined ? part : { ...part, mediaType };
}

function typeByName({ uri }: FileContentPart): string | undefined {
  const path = URL.canParse(uri) ? new URL(uri).pathname : '';
  const [, extension = ''] = /\.([a-z]{3,4})$/i.exec(path) ?? [];
  return TYPES[extension.toLowerCase()];
}

/** Returns the note that a model gets instead of a file that it does not accept. */
export function noteOn({ name, mediaType }: BlobPart | FileContentPart): ContentPart {
  const named = name === undefined ? '' : `${name}, `;
  const text = `[${named}${mediaType ?? 'a file'}: not shown, because this model does not accept it]`;
  return { kind: 'text', text };
}
