import { usageError } from './exit.ts';

/** Checks the value of `--public-url` and returns it. */
export function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (!/^https?:$/.test(url?.protocol ?? '')) {
    throw usageError(
      `--public-url ${text}: use a full http or https address, for example https://agent.example`,
    );
  }
  // The address is published in the card, and paths are appended to it.
  if (url?.username || url?.password || /[?#]/.test(text)) {
    throw usageError(
      '--public-url: remove the user name, password, query and fragment from the address',
    );
  }
  return text;
}
