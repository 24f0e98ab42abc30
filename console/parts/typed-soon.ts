/** What somebody gave into a field or a form, done after a moment in which it can be taken back. */
import type { Signal } from '@preact/signals';
import { soon } from './notice.tsx';

/** What is given, and what is done with it. */
interface Given<T> {
  /** Where it is put back. */
  readonly place: Signal<T>;
  /** What stood there when somebody began with it: what has been put back since stays. */
  readonly first: T;
  readonly given: T;
  /** That nothing is given. */
  readonly empty: T;
  /** What is done, in a few words. */
  readonly title: string;
  /** Whether it was done. */
  readonly act: () => Promise<boolean>;
}

/**
 * Does soon what was given, and empties its place. What is taken back, or not done, is there again, to be mended,
 * unless something else is by then.
 */
export function givenSoon<T>({ place, first, given, empty, title, act }: Given<T>): void {
  if (place.value === first) place.value = empty;
  const putBack = (): void => {
    if (place.value === empty) place.value = given;
  };
  soon(title, () => void act().then((isDone) => isDone || putBack()), putBack);
}

/** The same of a field. */
export function typedSoon(field: Signal<string>, title: string, act: () => Promise<boolean>): void {
  givenSoon({ place: field, first: field.value, given: field.value, empty: '', title, act });
}
