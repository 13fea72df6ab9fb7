/**
 * The files that models accept. A vendor refuses a whole request because of one unsupported file. Every later request
 * of the session would contain this file again. So such a file must not be sent at all.
 */
import { imageType, isPdf, MAX_IMAGE_BYTES } from '../../base/index.ts';
import type { BlobPart } from '../content.ts';

/** Number of base64 characters from which the type of a file is determined. */
const HEAD_LENGTH = 32;

/**
 * Returns the file if a model may accept it: an image that is not too large, a PDF, audio or video. Otherwise returns
 * undefined. The type of images and PDFs is determined from the bytes, because vendors refuse an image whose declared
 * type is wrong.
 */
export function acceptedFile(part: BlobPart): BlobPart | undefined {
  const head = Buffer.from(part.data.slice(0, HEAD_LENGTH), 'base64');
  const image = imageType(head);
  if (image !== undefined) {
    const size = (part.data.length * 3) / 4;
    return size <= MAX_IMAGE_BYTES ? { ...part, mediaType: image } : undefined;
  }
  if (isPdf(head)) return { ...part, mediaType: 'application/pdf' };
  return /^(audio|video)\//.test(part.mediaType) ? part : undefined;
}

/** The audio and video types that Google's models accept. */
const GOOGLE_MEDIA =
  /^(audio\/(wav|x-wav|mp3|mpeg|aiff|aac|ogg|flac)|video\/(mp4|mpeg|mpg|mov|quicktime|avi|x-flv|webm|wmv|3gpp))$/;

/**
 * Returns whether the vendor accepts a file that `acceptedFile` returned. `vendor` is the provider's name in the AI
 * SDK, such as `anthropic.messages`.
 */
export function isAcceptedBy(vendor: string, { mediaType }: BlobPart): boolean {
  if (mediaType.startsWith('image/')) return true;
  if (mediaType === 'application/pdf') return /^(anthropic|openai)\.|^google/.test(vendor);
  return vendor.startsWith('google') && GOOGLE_MEDIA.test(mediaType);
}
