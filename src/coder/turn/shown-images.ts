/**
 * The images that one execution of a turn shows to clients. They come from tools or from the model.
 *
 * An image becomes a file part in the task's log. Every client that joins later reads this part, so the size of images
 * is limited. A larger image is not shown, and clients see only the text beside it.
 */
import type { Content, ContentPart } from '../../agent/index.ts';
import { toA2AParts } from '../../bridge/index.ts';
import type { Part } from '../../protocol/index.ts';

/** Maximum size of one image, and of all images of an execution, in characters of base64. */
const MAX_IMAGE = 1024 * 1024;
const MAX_IMAGES = 4 * 1024 * 1024;

export class ShownImages {
  #left = MAX_IMAGES;

  /** Returns the images among the parts that are small enough to be shown, as A2A parts. */
  of(parts: Content['parts'] = []): Part[] {
    return toA2AParts(parts.filter((part) => this.#fits(part)));
  }

  #fits(part: ContentPart): boolean {
    if (part.kind !== 'blob' || !part.mediaType.startsWith('image/')) return false;
    const { length } = part.data;
    if (length > Math.min(MAX_IMAGE, this.#left)) return false;
    this.#left -= length;
    return true;
  }
}
