/** Every text of the console: by area in `texts/`, by where it stands here. */
import { FLEET } from './texts/fleet.ts';
import { FRAME } from './texts/frame.ts';
import { SIGN_IN } from './texts/sign-in.ts';

/** What belongs to the first load. Pages that are loaded when they are wanted have their texts with them. */
export const TEXTS = { ...FRAME, ...FLEET, ...SIGN_IN } as const;
