/**
 * Attaches the images whose paths are in a prompt. A terminal pastes the path of a file that is dropped into it:
 * `/home/ann/shot.png`, `'/home/ann/my shot.png'`, `/home/ann/my\ shot.png` or `file:///home/ann/shot.png`.
 *
 * Only prompts that a person types into this terminal or this command line are searched. This person may choose any
 * file, so the file may be outside the workspace. The agent gets the content of the file. In the prompts of other
 * clients, a path is only text.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { imageType, MAX_IMAGE_BYTES, sizeOf } from '../../base/index.ts';
import { homeFolder } from '../../base/system/index.ts';
import type { Part } from '../../protocol/index.ts';

/** An absolute path, a path that starts with `~/`, or a file URL: in quotes, or with escaped spaces. */
const PATH =
  /(?<=^|\s)(?:'((?:\/|~\/|file:\/\/)[^'\n]{1,4096})'|"((?:\/|~\/|file:\/\/)[^"\n]{1,4096})"|((?:\/|~\/|file:\/\/)(?:\\.|[^\s\\'"]){1,4096}))(?=[\s.,;:!?)]|$)/g;
const IMAGE = /\.(?:png|jpe?g|gif|webp)$/i;
const MAX_IMAGES = 10;
/** Maximum size of all images of a prompt. A larger message would exceed the limit of a request. */
const MAX_TOTAL_BYTES = 6_000_000;

/** Returns the paths of images in a prompt. */
export function imagePathsIn(text: string, home?: string): string[] {
  const found = Array.from(text.matchAll(PATH), ([, single, double, plain]) =>
    resolved(single ?? double ?? plain?.replaceAll(/\\(.)/g, '$1') ?? '', home),
  );
  return [...new Set(found.filter((file) => file !== undefined))].filter((file) =>
    IMAGE.test(file),
  );
}

/** Converts a match of PATH to a path. Returns undefined for an invalid URL or an unknown home folder. */
function resolved(name: string, home: string | undefined): string | undefined {
  // Punctuation after a path without quotes belongs to the sentence.
  const trimmed = IMAGE.test(name) ? name : name.replace(/[.,;:!?)]+$/, '');
  try {
    if (trimmed.startsWith('~/')) return path.join(home ?? homeFolder(), trimmed.slice(2));
    if (!trimmed.startsWith('file:')) return trimmed;
    return fileURLToPath(trimmed);
  } catch {
    return undefined;
  }
}

/**
 * Returns the prompt with its images, or the text itself if it names no images. For an image that cannot be attached, a
 * note is added to the text, so that the person and the model see the reason. A path stays plain text if it cannot be
 * read as a file, or does not end like the name of an image.
 */
export async function withImages(text: string): Promise<string | readonly Part[]> {
  const images: Part[] = [];
  const notes: string[] = [];
  let left = MAX_TOTAL_BYTES;
  for (const file of imagePathsIn(text)) {
    const read = await readImage(file, left);
    if (read === undefined) continue;
    const name = path.basename(file);
    if (images.length >= MAX_IMAGES) notes.push(`${name}: at most ${MAX_IMAGES} images`);
    else if ('problem' in read) notes.push(`${name}: ${read.problem}`);
    else {
      left -= read.bytes.length;
      const bytes = read.bytes.toString('base64');
      images.push({ kind: 'file', file: { name, mimeType: read.mimeType, bytes } });
    }
  }
  if (images.length === 0 && notes.length === 0) return text;
  const note = notes.length === 0 ? '' : `\n\n[Not attached: ${notes.join('; ')}]`;
  return [{ kind: 'text', text: `${text}${note}` }, ...images];
}

async function readImage(file: string, left: number) {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
    if (stats.size > MAX_IMAGE_BYTES) {
      return { problem: `${sizeOf(stats.size)}, the limit is ${sizeOf(MAX_IMAGE_BYTES)}` };
    }
    if (stats.size > left) {
      return {
        problem: `all images of a prompt together may have at most ${sizeOf(MAX_TOTAL_BYTES)}`,
      };
    }
    const buffer = Buffer.alloc(stats.size);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, bytesRead);
    const mimeType = imageType(bytes);
    if (mimeType === undefined) {
      return { problem: 'not a PNG, JPEG, GIF or WebP image, although its name says so' };
    }
    return { bytes, mimeType };
  } catch {
    return undefined;
  }
}

/** Adds the images to a prompt that may have other parts, such as the output of the person's own commands. */
export async function withImagesOf(
  content: string | readonly Part[],
): Promise<string | readonly Part[]> {
  if (typeof content === 'string') return withImages(content);
  const [first, ...others] = content;
  if (first?.kind !== 'text') return content;
  const found = await withImages(first.text);
  return typeof found === 'string' ? content : [...found, ...others];
}
