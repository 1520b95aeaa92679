package serviceapi

import (
	"context"
	"errors"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// logURLMax is the maximum length of a log's URL (service-api.md 2.6).
const logURLMax = 1024

func (s *Server) terminateGameSession(ctx context.Context, in *gamelift.TerminateGameSessionInput) (*gameSessionOutput, error) {
	id, err := s.arns.gameSession(*in.GameSessionId)
	shown, err := ask(ctx, s, err, messages.TerminateGameSession{
		GameSessionID: id, Force: in.TerminationMode == types.TerminationModeForceTerminate,
	}, s.gameSession)
	return &gameSessionOutput{GameSession: shown}, err
}

func (s *Server) getGameSessionLogURL(ctx context.Context, in *gamelift.GetGameSessionLogUrlInput) (*gamelift.GetGameSessionLogUrlOutput, error) {
	found, err := s.oneGameSession(ctx, *in.GameSessionId, "", 0)
	if err != nil {
		return nil, err
	}
	g := found[0]
	if g.Status != messages.GameSessionTerminated {
		return nil, invalid("game session %q is %s; its log is offered once it is TERMINATED", awswire.Clip(string(g.ID)), g.Status)
	}
	url, err := "", fs.ErrNotExist
	if s.options.LogURL != nil {
		url, err = s.options.LogURL(ctx, g, showsShortIDs(ctx))
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, messages.Errorf(messages.NotFound, "there is no log of game session %q: it logged nothing, or its log has been deleted", awswire.Clip(string(g.ID)))
	case len(url) > logURLMax:
		return nil, messages.Errorf(messages.Internal, "the URL of the log has more than %d characters", logURLMax)
	}
	return &gamelift.GetGameSessionLogUrlOutput{PreSignedUrl: aws.String(url)}, nil
}
