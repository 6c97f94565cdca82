/** Parts of forms: a label for everything, faults where they are, and what was typed stays. */
import type { Child, FC } from 'hono/jsx';

/** What came with a form that could not be sent on, and why. */
export interface Typed {
  readonly fields: URLSearchParams;
  /** By the name of the field. */
  readonly faults: Readonly<Record<string, string>>;
}

/** What somebody wrote, of all that a form says. */
export function typedTexts(fields: URLSearchParams | undefined): string[] {
  const written = /^(text|reason|arguments|result|payload|content|proof)/;
  return [...(fields ?? [])].flatMap(([name, value]) => (written.test(name) && value.trim() !== '' ? [value] : []));
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly typed: Typed | undefined;
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly required?: boolean;
}

function describedBy({ name, hint, typed }: Pick<FieldProps, 'name' | 'hint' | 'typed'>): string | undefined {
  const ids = [...(typed?.faults[name] ? [`${name}-fault`] : []), ...(hint ? [`${name}-hint`] : [])];
  return ids.length > 0 ? ids.join(' ') : undefined;
}

const Around: FC<FieldProps & { children?: Child }> = ({ name, label, typed, hint, children }) => (
  <div class="field">
    <label for={name}>{label}</label>
    {typed?.faults[name] && (
      <p class="fault" id={`${name}-fault`}>
        {typed.faults[name]}
      </p>
    )}
    {children}
    {hint && (
      <p class="hint" id={`${name}-hint`}>
        {hint}
      </p>
    )}
  </div>
);

export const TextArea: FC<FieldProps & { rows?: number; code?: boolean }> = (props) => {
  const { name, typed, value = '', required = false, rows = 4, code = false } = props;
  return (
    <Around {...props}>
      <textarea
        id={name}
        name={name}
        rows={rows}
        required={required}
        dir={code ? 'ltr' : 'auto'}
        class={code ? 'code' : undefined}
        spellcheck={!code}
        aria-invalid={typed?.faults[name] ? 'true' : undefined}
        aria-describedby={describedBy(props)}
      >
        {/* A browser drops the first line break. */}
        {`\n${typed?.fields.get(name) ?? value}`}
      </textarea>
    </Around>
  );
};

export const TextField: FC<FieldProps & { type?: string }> = (props) => {
  const { name, typed, value, required = false, type = 'text' } = props;
  return (
    <Around {...props}>
      <input
        id={name}
        name={name}
        type={type}
        value={typed?.fields.get(name) ?? value}
        required={required}
        autocomplete="off"
        aria-invalid={typed?.faults[name] ? 'true' : undefined}
        aria-describedby={describedBy(props)}
      />
    </Around>
  );
};

export const Select: FC<FieldProps & { choices: Readonly<Record<string, string>> }> = (props) => {
  const { name, typed, value, choices } = props;
  const chosen = typed?.fields.get(name) ?? value;
  return (
    <Around {...props}>
      <select id={name} name={name} aria-describedby={describedBy(props)}>
        {Object.entries(choices).map(([key, words]) => (
          <option value={key} selected={key === chosen}>
            {words}
          </option>
        ))}
      </select>
    </Around>
  );
};

/** One of a few; nothing is chosen for the reader. */
export const Radios: FC<FieldProps & { choices: Readonly<Record<string, string>> }> = (props) => {
  const { name, label, typed, value, choices } = props;
  const chosen = typed?.fields.get(name) ?? value;
  return (
    <fieldset class="radios" aria-describedby={describedBy(props)}>
      <legend>{label}</legend>
      {typed?.faults[name] && (
        <p class="fault" id={`${name}-fault`}>
          {typed.faults[name]}
        </p>
      )}
      {Object.entries(choices).map(([key, words]) => (
        <label>
          <input type="radio" name={name} value={key} checked={key === chosen} required />
          {words}
        </label>
      ))}
    </fieldset>
  );
};
