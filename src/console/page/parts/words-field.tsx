/** A labelled field for text of several lines, such as an answer. It gets the focus once, when it appears. */
import type { Signal } from '@preact/signals';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { bound } from './controls.tsx';

interface WordsProps {
  readonly label: string;
  readonly words: Signal<string>;
}

export function WordsField({ label, words }: WordsProps) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <>
      <label for={id}>{label}</label>
      <textarea id={id} rows={2} ref={field} {...bound(words)} />
    </>
  );
}
