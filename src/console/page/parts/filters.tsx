/** The fields above a list that choose what the list shows. */
import { useId, useState } from 'preact/hooks';
import { PageButton } from './controls.tsx';

interface ChoiceFieldProps {
  readonly label: string;
  readonly value: string;
  /** The values, or pairs of a value and the words for it. */
  readonly options: readonly (string | readonly [value: string, label: string])[];
  readonly onChange: (value: string) => void;
}

export function ChoiceField({ label, value, options, onChange }: ChoiceFieldProps) {
  const id = useId();
  return (
    <div>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map((each) => {
          const [name, words] = typeof each === 'string' ? [each, each] : each;
          return (
            <option key={name} value={name}>
              {words}
            </option>
          );
        })}
      </select>
    </div>
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly type?: 'text' | 'date';
  readonly onChange: (value: string) => void;
}

/** An input field. Its text becomes the filter when the person presses Enter or moves to another field. */
export function TextFilter({ label, value, type = 'text', onChange }: TextProps) {
  const id = useId();
  // The page may be drawn again while the person types, so the text is kept here until it becomes a filter.
  const [typed, setTyped] = useState<string>();
  const shared = {
    id,
    value: typed ?? value,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      setTyped(currentTarget.value),
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
      setTyped(undefined);
      onChange(currentTarget.value.trim());
    },
  };
  return (
    <div>
      <label for={id}>{label}</label>
      {type === 'date' ? (
        <input type="date" {...shared} />
      ) : (
        <input type="text" placeholder="any" spellcheck={false} {...shared} />
      )}
    </div>
  );
}

interface ButtonProps {
  /** Whether a filter is set. If true, there is a button that clears the filters. */
  readonly isFiltered: boolean;
  readonly onClear: () => void;
  readonly onReload: () => void;
}

export function FilterButtons({ isFiltered, onClear, onReload }: ButtonProps) {
  return (
    <>
      {isFiltered ? <PageButton onClick={onClear}>Clear</PageButton> : null}
      <PageButton onClick={onReload}>Refresh</PageButton>
    </>
  );
}
