const PIXELS = 64;

/**
 * Converts a picture to the icon format of games: a PNG of 64 × 64 pixels, with the picture centred and as large as fits.
 * Returns a file unchanged if it is not a picture, or already has that size.
 */
export async function iconOf(file) {
  const picture = await createImageBitmap(file).catch(() => undefined);
  if (!picture || (file.type === 'image/png' && picture.width === PIXELS && picture.height === PIXELS)) return file;
  const canvas = new OffscreenCanvas(PIXELS, PIXELS);
  const [width, height] = [picture.width, picture.height].map(
    (side) => (side * PIXELS) / Math.max(picture.width, picture.height),
  );
  const drawing = canvas.getContext('2d');
  drawing.imageSmoothingQuality = 'high';
  drawing.drawImage(picture, (PIXELS - width) / 2, (PIXELS - height) / 2, width, height);
  const png = await canvas.convertToBlob({ type: 'image/png' });
  return new File([png], 'server-icon.png', { type: 'image/png' });
}
