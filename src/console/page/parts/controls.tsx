/** Small elements of forms, which all pages use. */
import type { Signal } from '@preact/signals';
import type { ComponentChildren, ComponentProps } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

/** A button that does not submit its form. */
export function PageButton(props: ComponentProps<'button'>) {
  return <button type="button" {...props} />;
}

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  readonly onSubmit?: () => void;
}

/** A form that the page itself handles. The browser never sends it. */
export function Form({ onSubmit, ...others }: FormProps) {
  return (
    <form
      {...others}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit?.();
      }}
    />
  );
}

/** Returns the attributes with which a field shows and changes the text of a signal. */
export function bound(text: Signal<string>) {
  return {
    value: text.value,
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => {
      text.value = currentTarget.value;
    },
  };
}

/** Attributes of a field in which the browser neither completes the text nor checks its spelling. */
export const VERBATIM = { autocomplete: 'off', spellcheck: false } as const;

interface FieldCommon extends Partial<typeof VERBATIM> {
  readonly label: string;
  readonly text: Signal<string>;
  /** The class of the element around the label and the field. */
  readonly box?: string;
  readonly placeholder?: string;
  readonly min?: number;
  readonly step?: string;
}

/** The types of Preact need one object type for each type of field. */
type FieldType<T = 'text' | 'password' | 'search' | 'date' | 'number'> = T extends string
  ? { readonly type: T }
  : never;

/** A labelled field for a text. */
export function TextField({ label, text, box, ...others }: FieldCommon & FieldType) {
  const id = useId();
  return (
    <div class={box}>
      <label for={id}>{label}</label>
      <input id={id} {...others} {...bound(text)} />
    </div>
  );
}

interface RadiosProps<T extends string> {
  readonly legend: string;
  readonly options: readonly T[];
  readonly chosen: Signal<T>;
  /** Returns the words for an option. Default: the option itself. */
  readonly wordsFor?: (option: T) => string;
  readonly children?: ComponentChildren;
}

/** Radio buttons that choose one of several options. */
export function Radios<T extends string>(props: RadiosProps<T>) {
  const { legend, options, chosen, wordsFor = String, children } = props;
  const name = useId();
  return (
    <fieldset class="radios">
      <legend>{legend}</legend>
      {options.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name={name}
            checked={chosen.value === each}
            onChange={() => (chosen.value = each)}
          />
          {wordsFor(each)}
        </label>
      ))}
      {children}
    </fieldset>
  );
}

/** Shows a problem as text, which screen readers announce. Draws nothing if the text is empty. */
export function Alert({ text }: { readonly text: string }) {
  if (text === '') return null;
  return (
    <p class="t-bad" role="alert">
      {text}
    </p>
  );
}

interface WordsProps {
  readonly label: string;
  readonly words: Signal<string>;
}

/** A labelled field for text of several lines, such as an answer. It gets the focus once, when it appears. */
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
