/** What rows of lists do: deleted after a question, with what came of it said. */
import { problemOf } from '../failure.ts';
import { confirmed, type Question } from './confirm.tsx';
import { notify } from './notice.tsx';

/** Does it, and says that it was done or why not. True: it was. */
export async function done(act: () => Promise<unknown>, text: string): Promise<boolean> {
  try {
    await act();
    notify({ text });
    return true;
  } catch (error) {
    notify({ text: problemOf(error), kind: 'failed' });
    return false;
  }
}

/** The same after it was asked. */
export async function doneIfConfirmed(question: Question, act: () => Promise<unknown>, text: string): Promise<boolean> {
  return (await confirmed({ isDangerous: true, ...question })) && done(act, text);
}

/** Reads what somebody wants to see, and says why where it cannot be had. */
export async function read(reading: () => Promise<unknown>): Promise<void> {
  try {
    await reading();
  } catch (error) {
    notify({ text: problemOf(error), kind: 'failed' });
  }
}
